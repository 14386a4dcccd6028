/** The types authors see. Words stay close to Airflow's. */
import type { z } from "zod";
import type { TriggerRule } from "../core/rules.ts";
import type { Expand, ItemRefs, ItemValues, MapOptions, RefOf, ReturnedOf } from "./map-types.ts";
import type { Output } from "./output-type.ts";
import type { GroupRef, ItemRef, MappedRef, TaskOrGroup, TaskRef } from "./ref-types.ts";

/** Params of a DAG that names no schema: whatever was passed as `conf`. */
export type AnyParams = Readonly<Record<string, unknown>>;

/** A zod object that checks what a run is triggered with. */
export type ParamsSchema = z.ZodType<object, object>;

/** The schema of a DAG that names none. */
export type NoSchema = z.ZodType<AnyParams, AnyParams>;

/** What `templates` may hold: texts with `{{ … }}`, also inside objects and lists. */
export type Template =
  | string
  | number
  | boolean
  | null
  | readonly Template[]
  | { readonly [key: string]: Template };
export type Templates = { readonly [name: string]: Template };

/** Templates once they are rendered: the same shape. */
export type Rendered<T> = T extends string
  ? string
  : T extends number
    ? number
    : T extends boolean
      ? boolean
      : T extends object
        ? { readonly [K in keyof T]: Rendered<T[K]> }
        : T;

/** A number of milliseconds, or a text with its unit: `"250ms"`, `"30s"`, `"5m"`, `"1.5h"`, `"2d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

/** A date (`"2026-01-01"`, midnight in the DAG's zone), an ISO instant, or a Date. */
export type DateInput = string | Date;

/** When runs are due: cron text, a preset (`"@daily"`), a fixed period, or null for runs by hand only. */
export type Schedule = string | { readonly every: Duration; readonly anchor?: string | undefined } | null;

/** Named inputs: which task, or which list of the mapped group around, feeds which name. */
export type Inputs = Readonly<Record<string, TaskRef<unknown> | ItemRef<unknown>>>;

/**
 * What a body finds under `inputs`. Under `all_success` every upstream has an output; under any other rule a task may
 * run though an upstream failed or was skipped, and its input is then undefined. The list of a mapped task is always there.
 */
export type InputValues<I, Rule> = {
  readonly [K in keyof I]: I[K] extends MappedRef<infer T>
    ? T[]
    : I[K] extends ItemRef<infer T>
      ? T
      : I[K] extends TaskRef<infer T>
        ? Rule extends "all_success"
          ? T
          : T | undefined
        : never;
};

/** The setups whose work a teardown takes away again; true: it belongs to none. */
export type Teardown = readonly TaskRef<unknown>[] | true;

/** All that a body finds under `inputs`. A teardown runs however the work went, so its inputs may be missing. */
type Given<I, Rule, E, B, D> = InputValues<I, D extends Teardown ? "all_done" : Rule> & ItemValues<E, B>;

/** What a task does about errors of one kind. */
export interface RetryRule {
  /** Name of the error's class or its code, the class itself, or `"*"`: any. A class that extends it is another one. */
  readonly error: string | (new (...args: never[]) => Error);
  /** `"retry"`: as the task's retries say; `"fail"`: at once for good; `"wait"`: another try that uses up no retry. */
  readonly action: "retry" | "fail" | "wait";
  /** Wait before that try, in place of the task's own delay. */
  readonly delay?: Duration | undefined;
}

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
  /** By how much of itself a wait may be shorter, from 0 to 1, so that many tasks do not come back at once. Default 0. */
  readonly retryJitter?: number | undefined;
  /** What to do about errors of one kind; the first that fits counts. Default none. */
  readonly retryRules?: readonly RetryRule[] | undefined;
  /** Bound of one try; a longer one is stopped and has failed. Default null: no bound. */
  readonly executionTimeout?: Duration | null | undefined;
  /** The pool whose slots a try holds. Default `"default_pool"`. */
  readonly pool?: string | undefined;
  /** How many of the pool's slots a try holds. Default 1. */
  readonly poolSlots?: number | undefined;
  /** What a try is taken to use, in cores, above 0 and up to 10,000: for compute-hours and caps, no bound of it. Default 1. */
  readonly cores?: number | undefined;
  /** Higher goes first within a pool. Default 1. */
  readonly priorityWeight?: number | undefined;
  /** Whose weight counts beside its own: nobody's, that of all tasks before it, or of all after it. Default `"absolute"`. */
  readonly weightRule?: "absolute" | "upstream" | "downstream" | undefined;
  /** Which workers take the task: the queue profile they serve. Default `"default"`. */
  readonly queue?: string | undefined;
  /** `"shared"`: beside other bodies in a runner thread. `"own"`: in a process of its own. Default `"shared"`. */
  readonly isolation?: "shared" | "own" | undefined;
}

/** Options of every kind of task. */
export interface CommonTaskOptions<
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
  T extends Templates = Templates,
> extends TaskDefaults {
  /** Upstream tasks whose outputs the body reads, by name. */
  readonly inputs?: I | undefined;
  /** Upstream tasks, and groups of them, to wait for without reading their outputs. */
  readonly after?: readonly TaskOrGroup[] | undefined;
  /** Which states of the upstream tasks let this one run. Default `"all_success"`. */
  readonly triggerRule?: Rule | undefined;
  /** Texts with `{{ ds }}` and the like, rendered for each try into the body's `templates`. Default none. */
  readonly templates?: T | undefined;
  /** Of a mapped task: so many of its instances at once in one run. Default null: all. */
  readonly maxActivePerRun?: number | null | undefined;
  /** So many tries of it at once over all runs of its DAG. Default null: as many as its pool allows. */
  readonly maxActivePerDag?: number | null | undefined;
  /** What people read instead of the id. Default empty: the id. */
  readonly label?: string | undefined;
  /** Markdown, shown on the page. Default empty. */
  readonly doc?: string | undefined;
}

export interface TaskOptions<
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
  T extends Templates = Templates,
  E extends Expand = Record<never, never>,
  B extends number | undefined = undefined,
  D extends Teardown | undefined = undefined,
>
  extends CommonTaskOptions<I, Rule, T>, MapOptions<E, B> {
  /** It prepares what its teardowns take away again. Default false. */
  readonly setup?: boolean | undefined;
  /**
   * It takes away what these setups prepared, however the work went, if one of them succeeded; true: it belongs to no setup
   * and always runs. It waits for them and for what it stands after. Default none: it is no teardown.
   */
  readonly teardown?: D;
}

export interface GroupOptions<
  E extends Expand = Record<never, never>,
  B extends number | undefined = undefined,
> extends MapOptions<E, B> {
  /** false: ids inside do not begin with the group's own. Default true. */
  readonly prefix?: boolean | undefined;
  /** Options of the tasks inside that do not set them themselves; they outweigh those of the DAG. Default none. */
  readonly defaults?: TaskDefaults | undefined;
  /** What people read instead of the id. Default empty: the id. */
  readonly label?: string | undefined;
  /** Markdown, shown on the page. Default empty. */
  readonly doc?: string | undefined;
}

export interface DagOptions<S extends ParamsSchema = ParamsSchema> {
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
  /** How many tries may be under way at once over all runs of this DAG. Default null: as many as their pools allow. */
  readonly maxActiveTasks?: number | null | undefined;
  /** Bound of a run; a longer one is ended as failed. Default null: no bound. */
  readonly runTimeout?: Duration | null | undefined;
  /** How often what failed in a run runs again before the run fails. Default 0. */
  readonly runRetries?: number | undefined;
  /** Rest before that. Default `"5m"`. */
  readonly runRetryDelay?: Duration | undefined;
  /** After so many failed runs in a row the DAG is paused. Default null: never. */
  readonly maxFailedRuns?: number | null | undefined;
  /** One line. Default empty. */
  readonly description?: string | undefined;
  /** Who answers for it. Default empty. */
  readonly owner?: string | undefined;
  /** Words to find it by. Default none. */
  readonly tags?: readonly string[] | undefined;
  /** Markdown, shown on the page. Default empty. */
  readonly doc?: string | undefined;
  /** What a run may be triggered with: a zod object. Default none: any `conf`. */
  readonly params?: S | undefined;
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

/** What a body that has waited is called with. */
export interface Resumed {
  /** What the wait was ended with; null where only time had to pass. */
  readonly payload: unknown;
  /** What `defer()` was given to keep. */
  readonly state: unknown;
}

/** What a body is given. Times come from the run's interval, never from the clock, so that a rerun does the same. */
export interface TaskContext<
  V = Readonly<Record<string, unknown>>,
  P = AnyParams,
  T = Readonly<Record<string, unknown>>,
> {
  /** Outputs of upstream tasks, by the names given in `inputs`. */
  readonly inputs: V;
  /** What the run was triggered with, as the DAG's `params` schema reads it: defaults filled in, transforms done. */
  readonly params: P;
  /** The task's `templates`, rendered for this try. */
  readonly templates: T;
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  /** Of an instance of a mapped task or group: its index, from 0; else null. */
  readonly mapIndex: number | null;
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
  /** What whoever triggered the run passed along, as it came; empty for scheduled runs. */
  readonly conf: Readonly<Record<string, unknown>>;
  /** What ended the wait that `defer()` began, and what it kept; undefined while the try has not waited. */
  readonly resumed: Resumed | undefined;
  /**
   * The address that ends the wait of a `waitFor()` of this run, by reference or id; without one: this task's own, for
   * `defer({ event: true })`.
   */
  readonly waitUrl: (task?: TaskRef<unknown> | string) => string;
  readonly log: Log;
  /** Aborted when the try is to stop: timed out, cancelled, cleared. Pass it on to `fetch` and the like. */
  readonly signal: AbortSignal;
  /** The connection text of this name, read where the task runs; throws when there is none. */
  readonly connection: (name: string) => string;
}

/** A body as the runner calls it. */
export type TaskBody = (context: TaskContext) => unknown;

/** `task()` as the function given to `dag()` gets it: bodies see the DAG's params with their types. */
export interface TaskOf<P> {
  <R>(
    id: string,
    body: (context: TaskContext<Record<never, never>, P, Record<never, never>>) => R,
  ): TaskRef<Output<R>>;
  <
    R,
    I extends Inputs = Record<never, never>,
    Rule extends TriggerRule = "all_success",
    T extends Templates = Record<never, never>,
    const E extends Expand = Record<never, never>,
    B extends number | undefined = undefined,
    D extends Teardown | undefined = undefined,
  >(
    id: string,
    options: TaskOptions<I, Rule, T, E, B, D>,
    body: (context: TaskContext<Given<I, Rule, E, B, D>, P, Rendered<NoInfer<T>>>) => R,
  ): RefOf<E, Output<R>>;
}

/** `taskGroup()`; tasks defined while `build` runs are its own. */
export interface TaskGroupOf {
  <R>(id: string, build: () => R): GroupRef<R>;
  <R, const E extends Expand = Record<never, never>, B extends number | undefined = undefined>(
    id: string,
    options: GroupOptions<E, B>,
    build: (items: ItemRefs<E, B>) => R,
  ): GroupRef<ReturnedOf<E, R>>;
}
