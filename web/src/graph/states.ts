/** The states of a run on the items of a graph. Pure. */
import type { Cell } from "../../../api/contracts.ts";
import { TASK_STATES, type TaskState } from "../../../core/states.ts";
import { loudest } from "../grid/model.ts";

export interface ItemState {
  readonly state: TaskState;
  /** How many mapped instances it stands for; 1 when the task is not mapped. */
  readonly count: number;
}

/** By task id; a task without a cell has not been asked for. */
export function statesOf(cells: readonly Cell[]): Map<string, ItemState> {
  const all = new Map<string, TaskState[]>();
  for (const cell of cells) {
    const known = all.get(cell.taskId);
    if (known === undefined) all.set(cell.taskId, [cell.state]);
    else known.push(cell.state);
  }
  return new Map(
    [...all].map(([taskId, states]) => [taskId, { state: loudest(states) ?? "none", count: states.length }]),
  );
}

/** How many of a group's tasks are in which state, in the order of states. */
export function tallyOf(
  taskIds: readonly string[],
  states: ReadonlyMap<string, ItemState>,
): (readonly [TaskState, number])[] {
  const counts = new Map<TaskState, number>();
  for (const id of taskIds) {
    const state = states.get(id)?.state ?? "none";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return TASK_STATES.flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [[state, count] as const];
  });
}
