/** What a run asks for and says, in the words of its activities. */
import type { Decision, Grant, SlotRequest } from "../activities/types.ts";
import type { RunCell } from "../core/cells.ts";
import type { RunPlan } from "../core/plan.ts";
import { cellAt, type At, type AtTry, type RecordEffect, type RunProgress } from "../core/progress.ts";
import type { TaskState } from "../core/states.ts";
import { isBodyless } from "../core/waits.ts";
import type { Given } from "./try-activity.ts";

/** Of several tries of one cell the last: a command may have taken back those before it. */
export function newest(requests: readonly SlotRequest[]): readonly SlotRequest[] {
  if (requests.length < 2) return requests;
  const byCell = new Map(requests.map((request) => [`${request.taskId} ${request.mapIndex}`, request]));
  return byCell.size === requests.length ? requests : [...byCell.values()];
}

export const grantOf = (plan: RunPlan, { task, index, try: number }: AtTry): Grant => ({
  taskId: plan.tasks[task]!.id,
  mapIndex: index,
  try: number,
});

/** Of all cells that are queued. */
export const requestsOf = (plan: RunPlan, progress: RunProgress): SlotRequest[] =>
  cellsIn(progress, "queued").map((at) => {
    const { resumed } = goingOn(progress, at);
    return requestOf(plan, resumed?.try === at.try ? { ...at, wait: resumed.wait } : at);
  });

/** Of all cells that wait without a body. */
export const waitsOf = (plan: RunPlan, progress: RunProgress): Grant[] =>
  cellsIn(progress, "deferred")
    .filter(({ task }) => isBodyless(plan.tasks[task]!.wait))
    .map((at) => grantOf(plan, at));

function cellsIn(progress: RunProgress, wanted: TaskState): AtTry[] {
  return progress.tasks.flatMap(({ own, instances, count }, task) => {
    const cells: (readonly [number, RunCell])[] =
      count === null ? [[-1, own]] : (instances ?? []).slice(0, count).map((cell, index) => [index, cell]);
    return cells.flatMap(([index, { state, try: number }]) =>
      state === wanted ? [{ task, index, try: number }] : [],
    );
  });
}

/** Of a try: how long its sensor may wait, and after which wait it goes on. */
export function goingOn(progress: RunProgress, at: At): Omit<Given, "inputs"> {
  const { try: number, lost, waitBy, waitBegun, waits, resume, resumeOf } = cellAt(progress, at);
  return {
    ...(waitBegun === true && waitBy !== undefined && { waitBy }),
    ...(lost > 0 && { afterLost: true as const }),
    ...(resumeOf !== undefined && { resumed: resumeOf }),
    ...(resume !== undefined && waits !== undefined && { resumed: { try: number, wait: waits } }),
  };
}

export function requestOf(plan: RunPlan, effect: AtTry & { readonly wait?: number }): SlotRequest {
  const task = plan.tasks[effect.task]!;
  return {
    taskId: task.id,
    mapIndex: effect.index,
    try: effect.try,
    ...(effect.wait !== undefined && { wait: effect.wait }),
    pool: task.pool,
    slots: task.poolSlots,
    priority: task.priorityWeight,
  };
}

export function decisionOf(plan: RunPlan, effect: RecordEffect): Decision {
  const { seq, task, index, state, ended } = effect;
  return { seq, taskId: plan.tasks[task]!.id, mapIndex: index, try: effect.try, state, ended };
}
