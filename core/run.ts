/**
 * The rules of a run: `step(plan, progress, event)` says what is next; the workflow performs it.
 * Same inputs, same answer: no clock, no randomness. A cell is named by its task's position and its instance's index
 * (-1: the task as a whole).
 */
import { clear, mark, stopped } from "./commands.ts";
import { Draft } from "./draft.ts";
import { mapOut } from "./map-out.ts";
import type { RunPlan } from "./plan.ts";
import { deferred, expired, timed, WAIT_TIMEOUT, woken } from "./waking.ts";
import type { At, AtTry, Effect, RunEvent, RunProgress, TryOutcome } from "./progress.ts";

/** A worker lost this many times in a row under one task is taken as the task's own failure, which its retries are for. */
export const LOST_LIMIT = 3;

export function step(
  plan: RunPlan,
  progress: RunProgress,
  event: RunEvent,
): { progress: RunProgress; effects: readonly Effect[] } {
  if (progress.state !== "running") return { progress, effects: [] };
  const draft = new Draft(plan, progress);
  HANDLERS[event.kind](draft, event as never);
  return draft.finish();
}

/**
 * Steps of a run one after the other: each as `step` says, on cells that are copied once instead of each time, which is most of
 * a step with 20,000 instances. The progress it answers changes with the next one.
 */
export class Steps {
  readonly #draft: Draft;
  #progress: RunProgress;

  constructor(plan: RunPlan, progress: RunProgress) {
    this.#draft = new Draft(plan, progress);
    this.#progress = progress;
  }

  next(event: RunEvent): { progress: RunProgress; effects: readonly Effect[] } {
    if (this.#progress.state !== "running") return { progress: this.#progress, effects: [] };
    HANDLERS[event.kind](this.#draft, event as never);
    this.#progress = this.#draft.finish().progress;
    return { progress: this.#progress, effects: this.#draft.effects.splice(0) };
  }
}

type Handler<K extends RunEvent["kind"]> = (draft: Draft, event: Extract<RunEvent, { kind: K }>) => void;

const HANDLERS: { readonly [K in RunEvent["kind"]]: Handler<K> } = {
  opened: (draft) => {
    draft.plan.tasks.forEach((_, task) => draft.evaluate({ task, index: -1 }));
    draft.plan.maps.forEach((_, map) => mapOut(draft, map));
  },
  granted: (draft, at) => {
    if (!draft.isAt(at, "queued") || draft.partOf(at) !== (at.wait ?? 0)) return;
    draft.begin(at, at.now);
    draft.effects.push({ ...tryOf(at), kind: "start" });
  },
  ended: (draft, at) => {
    // A late result of an old try is refused (K36): it is not the try this cell is at.
    if (!draft.isAt(at, "running")) return;
    // Nor of the part of it before a wait.
    if (at.wait !== undefined && at.wait !== draft.partOf(at)) return;
    timed(draft, at, at.outcome);
    const { afterStop } = draft.cell(at);
    if (afterStop === undefined) END[at.outcome.kind](draft, at, at.outcome as never);
    else stopped(draft, at, afterStop, at.outcome);
  },
  due: (draft, at) => {
    if (draft.isAt(at, "up_for_retry")) draft.request(at);
  },
  woken,
  rerun: (draft, { rerun }) => {
    // One of before: a command came into that rest.
    if (!draft.resting || draft.reruns !== rerun) return;
    draft.resting = false;
    clear(draft, failedCells(draft));
  },
  end: (draft, { as, reason }) => {
    if (draft.ending !== null) return;
    draft.ending = { as, reason };
    draft.plan.tasks.forEach((_, task) => {
      // A teardown goes on, and begins, as if nothing had happened; what it waits for is what ends here.
      if (draft.isTeardown(task)) return;
      for (const index of draft.cells.indexes(task)) draft.endNow({ task, index });
    });
    draft.evaluateTeardowns();
  },
  clear: (draft, { cells }) => clear(draft, cells),
  mark: (draft, { cells, as }) => mark(draft, cells, as),
};

/** All cells that failed, or could not run. */
function failedCells(draft: Draft): At[] {
  return draft.plan.tasks.flatMap((_, task) =>
    [...draft.cells.indexes(task)].flatMap((index) => {
      const { state } = draft.cells.get(task, index);
      return state === "failed" || state === "upstream_failed" ? [{ task, index }] : [];
    }),
  );
}

const tryOf = ({ task, index, try: number }: AtTry): AtTry => ({ task, index, try: number });

type End<K extends TryOutcome["kind"]> = (
  draft: Draft,
  at: At,
  outcome: Extract<TryOutcome, { kind: K }>,
) => void;

const END: { readonly [K in TryOutcome["kind"]]: End<K> } = {
  success: (draft, at, outcome) => draft.succeeded(at, outcome),
  skipped: (draft, at, outcome) => draft.settle(at, "skipped", { state: "skipped", outcome }),
  deferred,
  cancelled: (draft, at, outcome) => {
    if (draft.isEnding(at)) draft.settle(at, draft.endState, { state: "cancelled", outcome });
    else draft.again(at, { state: "requeued", outcome }, {});
  },
  failed: (draft, at, outcome) => draft.failed(at, "failed", outcome, outcome.error),
  timed_out: (draft, at, outcome) => {
    if (outcome.error.code === WAIT_TIMEOUT) expired(draft, at, outcome.error.message);
    else draft.failed(at, "timed_out", outcome, outcome.error);
  },
  requeued: (draft, at, outcome) => draft.again(at, { state: "requeued", outcome }, {}),
  lost: (draft, at, outcome) => {
    const lost = draft.cell(at).lost + 1;
    if (lost < LOST_LIMIT) draft.again(at, { state: "lost", outcome }, { lost });
    else draft.failed(at, "lost", outcome, outcome.error);
  },
};
