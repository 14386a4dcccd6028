import { retryDelayMs } from "./backoff.ts";
import type { BodyError, BodyOutcome } from "./body.ts";
import type { SerialGraph, SerialTask } from "./graph.ts";
import { countStates, decide } from "./rules.ts";
import { TASK_DONE, type RunState, type TaskState, type TryState } from "./states.ts";

/**
 * The rules of a run: `step(plan, progress, event)` says what is next; the workflow performs it.
 * Same inputs, same answer: no clock, no randomness. Cells are indexed by the task's position in the graph.
 */

/** What a run needs of its graph. */
export type RunTask = Pick<
  SerialTask,
  | "id"
  | "upstream"
  | "inputs"
  | "triggerRule"
  | "retries"
  | "retryDelayMs"
  | "retryFactor"
  | "retryMaxDelayMs"
  | "executionTimeoutMs"
  | "pool"
  | "poolSlots"
  | "priorityWeight"
  | "queue"
  | "isolation"
>;

/** Only what a run needs: it is kept in the run's history. */
export function runTaskOf(task: RunTask): RunTask {
  return {
    id: task.id,
    upstream: task.upstream,
    inputs: task.inputs,
    triggerRule: task.triggerRule,
    retries: task.retries,
    retryDelayMs: task.retryDelayMs,
    retryFactor: task.retryFactor,
    retryMaxDelayMs: task.retryMaxDelayMs,
    executionTimeoutMs: task.executionTimeoutMs,
    pool: task.pool,
    poolSlots: task.poolSlots,
    priorityWeight: task.priorityWeight,
    queue: task.queue,
    isolation: task.isolation,
  };
}

export interface RunPlan {
  readonly tasks: readonly RunTask[];
  /** Positions of the tasks that wait for each task. */
  readonly downstream: readonly (readonly number[])[];
}

interface RunCell {
  readonly state: TaskState;
  /** Number of the latest try; 0 before the first. */
  readonly try: number;
  /** Retries used up. Lost and requeued tries use none. */
  readonly retries: number;
  /** Tries lost in a row. */
  readonly lost: number;
}

/** Plain JSON: it is stored when the run closes and carried over continue-as-new. */
export interface RunProgress {
  /** Number of the last decision recorded. */
  readonly seq: number;
  readonly state: RunState;
  readonly cells: readonly RunCell[];
  /** Cells not done yet. */
  readonly open: number;
  /** Why the run was cancelled, or null. */
  readonly cancelled: string | null;
}

/** What can end a try: the body's own outcome, or the loss of its worker. */
export type TryOutcome = BodyOutcome | { readonly kind: "lost"; readonly error: BodyError };

export type RunEvent =
  | { readonly kind: "opened" }
  | { readonly kind: "granted"; readonly task: number; readonly try: number }
  | { readonly kind: "ended"; readonly task: number; readonly try: number; readonly outcome: TryOutcome }
  | { readonly kind: "due"; readonly task: number; readonly try: number }
  | { readonly kind: "cancel"; readonly reason: string };

export type Effect =
  /** Ask for the slots of a try. */
  | { readonly kind: "request"; readonly task: number; readonly try: number }
  /** Run the body. */
  | { readonly kind: "start"; readonly task: number; readonly try: number }
  /** Send `due` after the delay. */
  | { readonly kind: "wait"; readonly task: number; readonly try: number; readonly delayMs: number }
  /** Ask a running body to stop; its `ended` follows. */
  | { readonly kind: "stop"; readonly task: number; readonly try: number }
  | RecordEffect
  | { readonly kind: "close"; readonly state: RunState };

/** A decision to be written down: the cell's new state and, when a try ended by it, how. */
interface RecordEffect {
  readonly kind: "record";
  readonly seq: number;
  readonly task: number;
  readonly try: number;
  readonly state: TaskState;
  readonly ended: { readonly state: TryState; readonly outcome: TryOutcome } | null;
}

/** A worker lost this many times in a row under one task is taken as the task's own failure, which its retries are for. */
export const LOST_LIMIT = 3;

export function planOf(graph: Pick<SerialGraph, "tasks"> | { readonly tasks: readonly RunTask[] }): RunPlan {
  const downstream: number[][] = graph.tasks.map(() => []);
  graph.tasks.forEach((task, position) => {
    for (const up of task.upstream) downstream[up]!.push(position);
  });
  return { tasks: graph.tasks, downstream };
}

export function newProgress(plan: RunPlan): RunProgress {
  return {
    seq: 0,
    state: "running",
    cells: plan.tasks.map(() => ({ state: "none", try: 0, retries: 0, lost: 0 })),
    open: plan.tasks.length,
    cancelled: null,
  };
}

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

type Handler<K extends RunEvent["kind"]> = (draft: Draft, event: Extract<RunEvent, { kind: K }>) => void;

const HANDLERS: { readonly [K in RunEvent["kind"]]: Handler<K> } = {
  opened: (draft) => {
    draft.plan.tasks.forEach((_, position) => draft.evaluate(position));
  },
  granted: (draft, { task, try: number }) => {
    if (!draft.isAt(task, number, "queued")) return;
    draft.cells[task] = { ...draft.cell(task), state: "running" };
    draft.effects.push({ kind: "start", task, try: number });
  },
  ended: (draft, { task, try: number, outcome }) => {
    // A late result of an old try is refused (K36): it is not the try this cell is at.
    if (!draft.isAt(task, number, "running")) return;
    END[outcome.kind](draft, task, outcome as never);
  },
  due: (draft, { task, try: number }) => {
    if (draft.isAt(task, number, "up_for_retry")) draft.request(task);
  },
  cancel: (draft, { reason }) => {
    draft.cancelled ??= reason;
    draft.cells.forEach((cell, task) => {
      if (cell.state === "running") draft.effects.push({ kind: "stop", task, try: cell.try });
      else if (!TASK_DONE[cell.state]) draft.settle(task, "cancelled", null);
    });
  },
};

type End<K extends TryOutcome["kind"]> = (
  draft: Draft,
  task: number,
  outcome: Extract<TryOutcome, { kind: K }>,
) => void;

const END: { readonly [K in TryOutcome["kind"]]: End<K> } = {
  success: (draft, task, outcome) => draft.settle(task, "success", { state: "success", outcome }),
  skipped: (draft, task, outcome) => draft.settle(task, "skipped", { state: "skipped", outcome }),
  cancelled: (draft, task, outcome) => {
    if (draft.cancelled !== null) draft.settle(task, "cancelled", { state: "cancelled", outcome });
    else draft.again(task, { state: "requeued", outcome }, {});
  },
  failed: (draft, task, outcome) => draft.failed(task, "failed", outcome, outcome.error),
  timed_out: (draft, task, outcome) => draft.failed(task, "timed_out", outcome, outcome.error),
  requeued: (draft, task, outcome) => draft.again(task, { state: "requeued", outcome }, {}),
  lost: (draft, task, outcome) => {
    const lost = draft.cell(task).lost + 1;
    if (lost < LOST_LIMIT) draft.again(task, { state: "lost", outcome }, { lost });
    else draft.failed(task, "lost", outcome, outcome.error);
  },
};

/** The working copy of one step. */
class Draft {
  readonly plan: RunPlan;
  readonly cells: RunCell[];
  readonly effects: Effect[] = [];
  cancelled: string | null;
  #seq: number;
  #open: number;
  readonly #touched: number[] = [];

  constructor(plan: RunPlan, progress: RunProgress) {
    this.plan = plan;
    this.cells = progress.cells.slice();
    this.cancelled = progress.cancelled;
    this.#seq = progress.seq;
    this.#open = progress.open;
  }

  cell(task: number): RunCell {
    return this.cells[task]!;
  }

  isAt(task: number, number: number, state: TaskState): boolean {
    const cell = this.cells[task];
    return cell !== undefined && cell.try === number && cell.state === state;
  }

  /** Applies the trigger rule to a task that has not begun. */
  evaluate(task: number): void {
    if (this.cell(task).state !== "none" || this.cancelled !== null) return;
    const { upstream, triggerRule } = this.plan.tasks[task]!;
    const answer = decide(triggerRule, countStates(upstream.map((up) => this.cell(up).state)));
    if (answer === "run") this.request(task);
    else if (answer === "skip") this.settle(task, "skipped", null);
    else if (answer === "fail") this.settle(task, "upstream_failed", null);
  }

  request(task: number): void {
    const cell = this.cell(task);
    this.cells[task] = { ...cell, state: "queued", try: cell.try + 1 };
    this.effects.push({ kind: "request", task, try: cell.try + 1 });
  }

  /** The cell is done: record it and look at what waited for it. */
  settle(task: number, state: TaskState, ended: RecordEffect["ended"]): void {
    this.cells[task] = { ...this.cell(task), state };
    this.#open -= 1;
    this.#record(task, state, ended);
    this.#touched.push(task);
  }

  /** A work list, not recursion: a chain of thousands that is skipped must not exhaust the stack. */
  #propagate(): void {
    for (let task = this.#touched.pop(); task !== undefined; task = this.#touched.pop()) {
      for (const down of this.plan.downstream[task]!) this.evaluate(down);
    }
  }

  failed(task: number, state: "failed" | "timed_out" | "lost", outcome: TryOutcome, error: BodyError): void {
    const cell = this.cell(task);
    const policy = this.plan.tasks[task]!;
    if (this.cancelled !== null || !error.retryable || cell.retries >= policy.retries) {
      this.settle(task, "failed", { state, outcome });
      return;
    }
    const retries = cell.retries + 1;
    const delayMs = error.retryDelayMs ?? retryDelayMs(policy, retries);
    this.cells[task] = { ...cell, state: "up_for_retry", retries, lost: 0 };
    this.#record(task, "up_for_retry", { state, outcome });
    this.effects.push({ kind: "wait", task, try: cell.try, delayMs });
  }

  /** Another try at once, through no fault of the task. */
  again(task: number, ended: NonNullable<RecordEffect["ended"]>, change: { lost?: number }): void {
    if (this.cancelled !== null) {
      this.settle(task, "cancelled", ended);
      return;
    }
    this.cells[task] = { ...this.cell(task), state: "up_for_retry", ...change };
    this.#record(task, "up_for_retry", ended);
    this.request(task);
  }

  finish(): { progress: RunProgress; effects: readonly Effect[] } {
    this.#propagate();
    const state = this.#open > 0 ? "running" : this.#finalState();
    if (state !== "running") this.effects.push({ kind: "close", state });
    return {
      progress: { seq: this.#seq, state, cells: this.cells, open: this.#open, cancelled: this.cancelled },
      effects: this.effects,
    };
  }

  #record(task: number, state: TaskState, ended: RecordEffect["ended"]): void {
    this.#seq += 1;
    this.effects.push({ kind: "record", seq: this.#seq, task, try: this.cell(task).try, state, ended });
  }

  /** As in Airflow, the leaves decide: a run fails when a leaf failed or could not run. */
  #finalState(): RunState {
    if (this.cancelled !== null) return "cancelled";
    const failed = this.cells.some(
      (cell, task) =>
        this.plan.downstream[task]!.length === 0 &&
        (cell.state === "failed" || cell.state === "upstream_failed" || cell.state === "cancelled"),
    );
    return failed ? "failed" : "success";
  }
}
