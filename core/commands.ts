/** What people ask of a run under way: that cells run again, or count as something. */
import { NEW_CELL, type AfterStop, type RunCell } from "./cells.ts";
import type { Draft } from "./draft.ts";
import { mapIn, mapOutOf } from "./map-out.ts";
import type { At, TryOutcome } from "./progress.ts";
import { companionsOf } from "./plan.ts";
import { TASK_DONE, type TaskState } from "./states.ts";
import { abandonedOf, stoppedOutcome } from "./waking.ts";

/** A try that was asked to stop by hand has ended, however it ended. */
export function stopped(draft: Draft, at: At, then: AfterStop, given: TryOutcome): void {
  const outcome = stoppedOutcome(given);
  const ended = { state: outcome.kind, outcome };
  if (then !== "clear") {
    if (then === "success" && outcome.kind === "success") draft.keep(at, outcome);
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

/** Cells run again, with the setups and teardowns around them; what never ran because of them may now, too (B8). */
export function clear(draft: Draft, given: readonly At[]): void {
  const tasks = new Set<number>();
  const again = (at: At): void => {
    tasks.add(at.task);
    for (const one of instancesAt(draft, at)) reset(draft, one);
  };
  const chosen = [...given, ...neverRan(draft, given)];
  chosen.forEach(again);
  around(draft, chosen).forEach(again);
  for (const map of draft.plan.maps) {
    if (!map.tasks.every((task) => isWhole(draft, task, tasks))) continue;
    for (const task of map.tasks) again({ task, index: -1 });
    mapIn(draft, map);
  }
  evaluateAll(draft, tasks);
}

/** The instance itself, or all that its task has where none is named. */
function* instancesAt(draft: Draft, { task, index }: At): Generator<At> {
  for (const one of index >= 0 ? [index] : draft.cells.indexes(task)) yield { task, index: one };
}

function evaluateAll(draft: Draft, tasks: Iterable<number>): void {
  for (const task of tasks) {
    mapOutOf(draft, task);
    draft.evaluateTask(task);
    draft.release(task);
  }
}

/** Nothing of it is left as it was: its lists, which may be others by now, are looked at again. */
function isWhole(draft: Draft, task: number, cleared: ReadonlySet<number>): boolean {
  if (!cleared.has(task)) return false;
  return [...draft.cells.indexes(task)].every((index) => {
    const { state, afterStop } = draft.cells.get(task, index);
    return state === "none" || (state === "running" && afterStop === "clear");
  });
}

/** Setups and teardowns that these cells stand between: what was prepared is gone. */
function around(draft: Draft, cells: readonly At[]): At[] {
  const { plan } = draft;
  return cells.flatMap(({ task, index }) =>
    companionsOf(plan, task).map((other) => {
      const { map } = plan.tasks[task]!;
      return { task: other, index: map !== undefined && plan.tasks[other]!.map === map ? index : -1 };
    }),
  );
}

/** Cells after these that could not run, or never began since the run was ended. */
function neverRan(draft: Draft, cells: readonly At[]): At[] {
  return [...draft.plan.after(cells.map(({ task }) => task))].flatMap((task) =>
    [...draft.cells.indexes(task)]
      .filter((index) => NEVER_RAN.has(draft.cells.get(task, index).state))
      .map((index) => ({ task, index })),
  );
}

const NEVER_RAN: ReadonlySet<TaskState> = new Set(["upstream_failed", "cancelled"]);

function reset(draft: Draft, at: At): void {
  const cell = draft.cells.find(at.task, at.index);
  if (cell === undefined) return;
  if (cell.state === "running") {
    stopThen(draft, at, cell, "clear");
    return;
  }
  if (cell.state === "none" && cell.held !== true) return;
  if (TASK_DONE[cell.state]) draft.open += 1;
  draft.cells.set(at.task, at.index, { ...NEW_CELL, try: cell.try, ...(at.index < 0 && { told: true }) });
  draft.record(at, "none", abandonedOf(cell, "cleared"));
}

function stopThen(draft: Draft, at: At, cell: RunCell, then: AfterStop): void {
  draft.cells.set(at.task, at.index, { ...cell, afterStop: then });
  if (cell.afterStop === undefined) draft.stop(at, cell);
}

export function mark(draft: Draft, given: readonly At[], as: "success" | "failed" | "skipped"): void {
  for (const one of given) {
    for (const at of instancesAt(draft, one)) {
      const cell = draft.cells.find(at.task, at.index);
      if (cell === undefined || cell.state === as) continue;
      if (cell.state === "running") {
        stopThen(draft, at, cell, as);
        continue;
      }
      if (TASK_DONE[cell.state]) draft.open += 1;
      draft.settle(at, as, abandonedOf(cell, `marked as ${as}`));
    }
  }
  if (as === "failed") return;
  const waiting = neverRan(draft, given);
  const all = [...waiting, ...around(draft, waiting)];
  for (const one of all) {
    for (const at of instancesAt(draft, one)) reset(draft, at);
  }
  evaluateAll(draft, new Set(all.map(({ task }) => task)));
}
