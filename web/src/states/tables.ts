/**
 * One look per state: its word, what it means, and a mark drawn on a 12 × 12 field, so that colour is never
 * the only sign. The colour is the custom property of the same name in `states.css`.
 * A new state in `core/states.ts` does not compile without a row here.
 */
import type { RunState, RunType, TaskState, TryState } from "../../../core/states.ts";

export interface Look {
  readonly word: string;
  readonly meaning: string;
  /** SVG path data, stroked. Only `M` is absolute, so that a mark can be put anywhere (`markAt`). */
  readonly mark: string;
  /** Suffix of the custom properties `--state-…` and `--on-state-…`. */
  readonly tone: string;
  /** Still moving: the page looks more often and shows a pulse. */
  readonly live?: true;
}

const CHECK = "M2.5 6.5l2.5 2.5 4.5-6";
const CROSS = "M3 3l6 6M9 3l-6 6";
const PLAY = "M4 2.5v7l5.5-3.5z";
const DOTS = "M2.5 6h.01M6 6h.01M9.5 6h.01";
const RETRY = "M9.5 6a3.5 3.5 0 1 1-1.2-2.6M9.6 1.8v2.4h-2.4";
const CLOCK = "M6 2.5v3.5l2.5 2";
/** Sand that has run through. */
const LATE = "M3.5 2.5h5M3.5 9.5h5M4 2.5l4 7M8 2.5l-4 7";
const UP = "M6 9.5v-7M3 5.5l3-3 3 3";
const SKIP = "M2.5 3l3 3-3 3M6.5 3l3 3-3 3";
const STOP = "M3.5 3.5h5v5h-5z";
const DASH = "M3 6h6";
const GONE = "M6 2.5v4.2M6 9.5h.01";
const BACK = "M9.5 6h-7M5 3.5l-2.5 2.5 2.5 2.5";

export const TASK_LOOK = {
  none: { word: "not started", meaning: "Waits for its upstream tasks", mark: "", tone: "none" },
  queued: {
    word: "queued",
    meaning: "Asked for a slot and waits for it",
    mark: DOTS,
    tone: "queued",
    live: true,
  },
  running: { word: "running", meaning: "Its body runs on a worker", mark: PLAY, tone: "running", live: true },
  deferred: {
    word: "deferred",
    meaning: "Waits without a slot or a worker",
    mark: CLOCK,
    tone: "deferred",
    live: true,
  },
  up_for_retry: {
    word: "up for retry",
    meaning: "Failed, and will be tried again",
    mark: RETRY,
    tone: "retry",
    live: true,
  },
  success: { word: "success", meaning: "Ended well", mark: CHECK, tone: "success" },
  failed: { word: "failed", meaning: "Failed, and no retry is left", mark: CROSS, tone: "failed" },
  upstream_failed: {
    word: "upstream failed",
    meaning: "Not run, because a task before it failed",
    mark: UP,
    tone: "upstream",
  },
  skipped: {
    word: "skipped",
    meaning: "Left out by a branch or by its trigger rule",
    mark: SKIP,
    tone: "skipped",
  },
  cancelled: { word: "cancelled", meaning: "Stopped by someone", mark: STOP, tone: "cancelled" },
  removed: { word: "removed", meaning: "No longer part of the DAG", mark: DASH, tone: "removed" },
} as const satisfies Record<TaskState, Look>;

export const RUN_LOOK = {
  queued: { word: "queued", meaning: "Waits to start", mark: DOTS, tone: "queued", live: true },
  running: { word: "running", meaning: "Tasks are at work", mark: PLAY, tone: "running", live: true },
  success: { word: "success", meaning: "Ended well", mark: CHECK, tone: "success" },
  failed: { word: "failed", meaning: "A task that decides the run failed", mark: CROSS, tone: "failed" },
  cancelled: { word: "cancelled", meaning: "Stopped by someone", mark: STOP, tone: "cancelled" },
} as const satisfies Record<RunState, Look>;

export const TRY_LOOK = {
  running: { word: "running", meaning: "The body runs", mark: PLAY, tone: "running", live: true },
  deferred: TASK_LOOK.deferred,
  success: { word: "success", meaning: "Ended well", mark: CHECK, tone: "success" },
  failed: { word: "failed", meaning: "The body threw an error", mark: CROSS, tone: "failed" },
  timed_out: {
    word: "timed out",
    meaning: "Took longer than its time-out",
    mark: LATE,
    tone: "failed",
  },
  skipped: { word: "skipped", meaning: "The body asked to be skipped", mark: SKIP, tone: "skipped" },
  lost: {
    word: "lost",
    meaning: "Its worker died: the next try uses no retry, unless it is the third lost in a row",
    mark: GONE,
    tone: "retry",
  },
  requeued: {
    word: "requeued",
    meaning: "Handed back unharmed; no retry was used up",
    mark: BACK,
    tone: "queued",
  },
  cancelled: { word: "cancelled", meaning: "Stopped by someone", mark: STOP, tone: "cancelled" },
} as const satisfies Record<TryState, Look>;

export const RUN_TYPE_WORD = {
  scheduled: "scheduled",
  manual: "triggered by hand",
  backfill: "backfill",
  dataset: "by dataset",
  fork: "fork",
} as const satisfies Record<RunType, string>;

/** Over a column of the grid; what comes by schedule needs none. */
export const RUN_TYPE_SIGN = {
  scheduled: "",
  manual: "▸",
  backfill: "«",
  dataset: "◆",
  fork: "⑂",
} as const satisfies Record<RunType, string>;

/** A mark's path with its field's corner at (x, y). */
export function markAt(mark: string, x: number, y: number): string {
  return mark.replaceAll(
    /M([\d.]+) ([\d.]+)/g,
    (_, left: string, top: string) => `M${x + Number(left)} ${y + Number(top)}`,
  );
}
