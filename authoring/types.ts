/** The types authors see. Words stay close to Airflow's. */
import type { TriggerRule } from "../core/rules.ts";

declare const OUTPUT: unique symbol;

/**
 * A task as others refer to it: inert, and typed by what its body returns. Pass it in `inputs` to read its output,
 * in `after` (or to `.before`/`.after`) to order without reading.
 *
 * @example
 * const rows = task("rows", async () => [1, 2, 3]); // TaskRef<number[]>
 * task("clean_up", () => {}).after(rows);
 */
export interface TaskRef<out T> {
  readonly id: string;
  readonly dagId: string;
  /** These tasks wait for this one. Returns this task. */
  readonly before: (...later: readonly TaskRef<unknown>[]) => TaskRef<T>;
  /** This task waits for these. Returns this task. */
  readonly after: (...earlier: readonly TaskRef<unknown>[]) => TaskRef<T>;
  /** Exists for the compiler only. */
  readonly [OUTPUT]?: T;
}

/** A number of milliseconds, or a text with its unit: `"250ms"`, `"30s"`, `"5m"`, `"1.5h"`, `"2d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

/** A date (`"2026-01-01"`, midnight in the DAG's zone), an ISO instant, or a Date. */
export type DateInput = string | Date;

/** When runs are due: cron text, a preset (`"@daily"`), a fixed period, or null for runs by hand only. */
export type Schedule = string | { readonly every: Duration; readonly anchor?: string | undefined } | null;

/** Named inputs: which task feeds which name. */
export type Inputs = Readonly<Record<string, TaskRef<unknown>>>;

/**
 * What a body finds under `inputs`. Under `all_success` every upstream has an output; under any other rule a task may
 * run though an upstream failed or was skipped, and its input is then undefined.
 */
export type InputValues<I, Rule> = {
  readonly [K in keyof I]: I[K] extends TaskRef<infer T>
    ? Rule extends "all_success"
      ? T
      : T | undefined
    : never;
};

/** What consumers get of a body's return value: awaited, and null for nothing, as in JSON. */
export type Output<R> = NothingIsNull<Awaited<R>>;
type NothingIsNull<T> = T extends void | undefined ? null : T;

/** A task's options that `defaults` of its DAG may set too. */
export interface TaskDefaults {
  /** How many tries may follow a failed first one. Default 0. */
  readonly retries?: number | undefined;
  /** Wait before a retry. Default `"5m"`. */
  readonly retryDelay?: Duration | undefined;
  /** Each further wait is this many times the one before: 1 keeps it, 2 doubles it. Default 1. */
  readonly retryFactor?: number | undefined;
  /** The longest wait that `retryFactor` may reach. Default null: no bound. */
  readonly maxRetryDelay?: Duration | null | undefined;
  /** Bound of one try; a longer one is stopped and has failed. Default null: no bound. */
  readonly executionTimeout?: Duration | null | undefined;
  /** The pool whose slots a try holds. Default `"default_pool"`. */
  readonly pool?: string | undefined;
  /** How many of the pool's slots a try holds. Default 1. */
  readonly poolSlots?: number | undefined;
  /** Higher goes first within a pool. Default 1. */
  readonly priorityWeight?: number | undefined;
  /** Which workers take the task: the queue profile they serve. Default `"default"`. */
  readonly queue?: string | undefined;
  /** `"shared"`: beside other bodies in a runner thread. `"own"`: in a process of its own. Default `"shared"`. */
  readonly isolation?: "shared" | "own" | undefined;
}

export interface TaskOptions<
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
> extends TaskDefaults {
  /** Upstream tasks whose outputs the body reads, by name. */
  readonly inputs?: I | undefined;
  /** Upstream tasks to wait for without reading their outputs. */
  readonly after?: readonly TaskRef<unknown>[] | undefined;
  /** Which states of the upstream tasks let this one run. Default `"all_success"`. */
  readonly triggerRule?: Rule | undefined;
  /** Shown on the page. Default empty. */
  readonly doc?: string | undefined;
}

export interface DagOptions {
  /** When runs are due. Default null: by hand only. */
  readonly schedule?: Schedule | undefined;
  /** IANA zone of `schedule`, `startDate`, `endDate` and `ds`. Default `"UTC"`. */
  readonly zone?: string | undefined;
  /** No interval begins before this. Default: the first boundary after the DAG was first seen. */
  readonly startDate?: DateInput | undefined;
  /** The last logical date, inclusive. Default: none. */
  readonly endDate?: DateInput | undefined;
  /** true: run every interval since `startDate`; false: only the latest one that is due. Default false. */
  readonly catchup?: boolean | undefined;
  /** How many runs of this DAG may be active at once. Default 16. */
  readonly maxActiveRuns?: number | undefined;
  /** One line. Default empty. */
  readonly description?: string | undefined;
  /** Who answers for it. Default empty. */
  readonly owner?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Longer text, shown on the page. */
  readonly doc?: string | undefined;
  /** Options of every task that does not set them itself. */
  readonly defaults?: TaskDefaults | undefined;
}

/** Writes to the log of this try. Values that are not text are shown as JSON, errors with their stack. */
export interface Log {
  readonly debug: (...parts: readonly unknown[]) => void;
  readonly info: (...parts: readonly unknown[]) => void;
  readonly warn: (...parts: readonly unknown[]) => void;
  readonly error: (...parts: readonly unknown[]) => void;
}

/** What a body is given. Times come from the run's interval, never from the clock, so that a rerun does the same. */
export interface TaskContext<V = Readonly<Record<string, unknown>>> {
  /** Outputs of upstream tasks, by the names given in `inputs`. */
  readonly inputs: V;
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly runType: string;
  /** Number of this try, from 1. */
  readonly try: number;
  /** The same as `try`, for destructuring. */
  readonly tryNumber: number;
  /** The number the last permitted try would have. */
  readonly maxTries: number;
  /** Start of the data interval. */
  readonly logicalDate: Date;
  /** What this run is about: from `start`, up to but without `end`. */
  readonly dataInterval: { readonly start: Date; readonly end: Date };
  /** Calendar date of the interval's start in the DAG's zone: `"2026-05-09"`. */
  readonly ds: string;
  /** `ds` without dashes: `"20260509"`. */
  readonly dsNodash: string;
  readonly zone: string;
  /** What whoever triggered the run passed along; empty for scheduled runs. */
  readonly conf: Readonly<Record<string, unknown>>;
  readonly log: Log;
  /** Aborted when the try is to stop: timed out, cancelled, cleared. Pass it on to `fetch` and the like. */
  readonly signal: AbortSignal;
  /** The connection text of this name, read where the task runs; throws when there is none. */
  readonly connection: (name: string) => string;
}

/** A body as the runner calls it. */
export type TaskBody = (context: TaskContext) => unknown;
