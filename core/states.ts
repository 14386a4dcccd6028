/** The states of runs, tasks and tries, as exhaustive tables: a new state that misses one does not compile. */

export const TASK_STATES = [
  "none",
  "queued",
  "running",
  "deferred",
  "up_for_retry",
  "success",
  "failed",
  "upstream_failed",
  "skipped",
  "cancelled",
  "removed",
] as const;
/** State of a task (or mapped instance) in a run: what a cell of the grid shows. */
export type TaskState = (typeof TASK_STATES)[number];

export const RUN_STATES = ["queued", "running", "success", "failed", "cancelled"] as const;
export type RunState = (typeof RUN_STATES)[number];

export const TRY_STATES = [
  "running",
  "deferred",
  "success",
  "failed",
  "timed_out",
  "skipped",
  "lost",
  "requeued",
  "cancelled",
] as const;
/** State of one numbered try. `deferred`: it waits without a slot; `lost`: its worker died; `requeued`: handed back unharmed, no retry used up. */
export type TryState = (typeof TRY_STATES)[number];

export const RUN_TYPES = ["scheduled", "manual", "backfill", "dataset", "fork"] as const;
export type RunType = (typeof RUN_TYPES)[number];

/** Nothing more will happen to the task unless it is cleared. */
export const TASK_DONE: Readonly<Record<TaskState, boolean>> = {
  none: false,
  queued: false,
  running: false,
  deferred: false,
  up_for_retry: false,
  success: true,
  failed: true,
  upstream_failed: true,
  skipped: true,
  cancelled: true,
  removed: true,
};

export const RUN_DONE: Readonly<Record<RunState, boolean>> = {
  queued: false,
  running: false,
  success: true,
  failed: true,
  cancelled: true,
};
