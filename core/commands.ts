/** What people ask of a run under way: that cells run again, or count as something. */
import { NEW_CELL, type AfterStop } from "./cells.ts";
import type { Draft } from "./draft.ts";
import { mapIn, mapOutOf } from "./map-out.ts";
import type { At, TryOutcome } from "./progress.ts";
import { TASK_DONE } from "./states.ts";

/** A try that was asked to stop by hand has ended, however it ended. */
export function stopped(draft: Draft, at: At, then: AfterStop, outcome: TryOutcome): void {
  const ended = { state: outcome.kind, outcome };
  if (then !== "clear") {
    draft.settle(at, then, ended);
    return;
  }
  const isLeftOver = at.index >= 0 && draft.cells.task(at.task).count === null;
  if (draft.isEnding(at) && !isLeftOver) {
    draft.settle(at, draft.endState, ended);
    return;
  }
  const { try: number } = draft.cell(at);
  draft.cells.set(at.task, at.index, { ...NEW_CELL, try: number });
  draft.record(at, "none", ended);
  if (isLeftOver) {
    draft.open -= 1;
    mapOutOf(draft, at.task);
  } else draft.evaluate(at);
}

/** Cells run again; what never ran because of them may now, too (B8). */
export function clear(draft: Draft, given: readonly At[]): void {
  const tasks = new Set<number>();
  const again = ({ task, index }: At): void => {
    tasks.add(task);
    for (const one of index >= 0 ? [index] : draft.cells.indexes(task)) reset(draft, { task, index: one });
  };
  given.forEach(again);
  for (const map of draft.plan.maps) {
    if (!map.sources.some((source) => tasks.has(source)) || !map.tasks.every((task) => tasks.has(task)))
      continue;
    for (const task of map.tasks) again({ task, index: -1 });
    mapIn(draft, map);
  }
  neverRan(draft, tasks).forEach(again);
  for (const task of tasks) {
    mapOutOf(draft, task);
    draft.evaluateTask(task);
  }
}

/** Cells after these tasks that are upstream_failed. */
function neverRan(draft: Draft, tasks: ReadonlySet<number>): At[] {
  return [...draft.plan.after(tasks)].flatMap((task) =>
    [...draft.cells.indexes(task)]
      .filter((index) => draft.cells.get(task, index).state === "upstream_failed")
      .map((index) => ({ task, index })),
  );
}

function reset(draft: Draft, at: At): void {
  const cell = draft.cells.find(at.task, at.index);
  if (cell === undefined) return;
  if (cell.state === "running") {
    draft.cells.set(at.task, at.index, { ...cell, afterStop: "clear" });
    if (cell.afterStop === undefined) draft.stop(at, cell);
    return;
  }
  if (cell.state === "none" && cell.held !== true) return;
  if (TASK_DONE[cell.state]) draft.open += 1;
  draft.cells.set(at.task, at.index, { ...NEW_CELL, try: cell.try, ...(at.index < 0 && { told: true }) });
  draft.record(at, "none", null);
}

export function mark(draft: Draft, given: readonly At[], as: "success" | "failed" | "skipped"): void {
  const marked = new Set<number>();
  for (const { task, index } of given) {
    for (const one of index >= 0 ? [index] : draft.cells.indexes(task)) {
      const at = { task, index: one };
      const cell = draft.cells.find(task, one);
      if (cell === undefined || cell.state === as) continue;
      marked.add(task);
      if (cell.state === "running") {
        draft.cells.set(task, one, { ...cell, afterStop: as });
        if (cell.afterStop === undefined) draft.stop(at, cell);
        continue;
      }
      if (TASK_DONE[cell.state]) draft.open += 1;
      draft.settle(at, as, null);
    }
  }
  if (as === "failed") return;
  const waiting = neverRan(draft, marked);
  for (const at of waiting) reset(draft, at);
  for (const at of waiting) draft.evaluate(at);
}
