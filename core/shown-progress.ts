/** How far a run is, from its cells as they are shown: enough to say what a command would mean. Pure. */
import { NEW_CELL, type RunCell } from "./cells.ts";
import type { RunPlan } from "./plan.ts";
import { newProgress, type RunProgress } from "./progress.ts";
import type { TaskState } from "./states.ts";

export interface ShownCell {
  readonly taskId: string;
  /** -1: the task as a whole. */
  readonly mapIndex: number;
  readonly state: TaskState;
  readonly try: number;
}

export function progressOf(plan: RunPlan, cells: readonly ShownCell[]): RunProgress {
  const progress = newProgress(plan);
  const tasks = progress.tasks.map((task) => ({ ...task, found: new Map<number, RunCell>() }));
  for (const { taskId, mapIndex, state, try: number } of cells) {
    const position = plan.positions.get(taskId);
    if (position !== undefined) tasks[position]!.found.set(mapIndex, { ...NEW_CELL, state, try: number });
  }
  return {
    ...progress,
    tasks: tasks.map(({ found, ...task }) => {
      const indexes = [...found.keys()].filter((index) => index >= 0);
      if (indexes.length === 0) return { ...task, own: found.get(-1) ?? task.own };
      // Instances behind the last that counts are left over from a longer list.
      const instances = Array.from({ length: Math.max(...indexes) + 1 }, (_, i) => found.get(i) ?? NEW_CELL);
      const count = instances.findLastIndex(({ state }) => state !== "removed") + 1;
      // Of a list that is empty now, or of a task that is mapped no more, the whole is the only cell.
      return count === 0 ? { ...task, own: found.get(-1) ?? task.own } : { ...task, instances, count };
    }),
  };
}
