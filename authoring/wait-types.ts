/** Types of what is waited for: sensors, and waits without a body. */
import type { z } from "zod";
import type { TriggerRule } from "../core/rules.ts";
import type { Expand, ItemValues, MapOptions, RefOf } from "./map-types.ts";
import type { Output } from "./output-type.ts";
import type { TaskRef } from "./ref-types.ts";
import type { Dag } from "./registry.ts";
import type {
  CommonTaskOptions,
  Duration,
  Inputs,
  InputValues,
  Rendered,
  TaskContext,
  TaskDefaults,
  Templates,
} from "./types.ts";

/** How long a wait may last, and what then. */
interface WaitBounds {
  /** How long it may wait, over all its tries; then it has failed, whatever its retries. null: for ever. Default `"7d"`. */
  readonly timeout?: Duration | null | undefined;
  /** It is skipped then, where it would have failed. Default false. */
  readonly softFail?: boolean | undefined;
}

export interface SensorOptions<
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
  T extends Templates = Templates,
  E extends Expand = Record<never, never>,
  B extends number | undefined = undefined,
>
  extends CommonTaskOptions<I, Rule, T>, MapOptions<E, B>, WaitBounds {
  /** Rest between two checks, at least a second. Default `"1m"`. */
  readonly every?: Duration | undefined;
}

/** What a check's answer says when it is no "not yet". */
type Found<R> = Output<Exclude<Awaited<R>, false | null | undefined | void>>;

/** `sensor()`. Its output is the first answer of its check that is not false, null or undefined. */
export interface SensorOf<P> {
  <R>(
    id: string,
    check: (context: TaskContext<Record<never, never>, P, Record<never, never>>) => R,
  ): TaskRef<Found<R>>;
  <
    R,
    I extends Inputs = Record<never, never>,
    Rule extends TriggerRule = "all_success",
    T extends Templates = Record<never, never>,
    const E extends Expand = Record<never, never>,
    B extends number | undefined = undefined,
  >(
    id: string,
    options: SensorOptions<I, Rule, T, E, B>,
    check: (context: TaskContext<InputValues<I, Rule> & ItemValues<E, B>, P, Rendered<NoInfer<T>>>) => R,
  ): RefOf<E, Found<R>>;
}

/** Where a wait without a body stands, and how it is shown. */
type Placed = Pick<CommonTaskOptions<Inputs, TriggerRule>, "after" | "triggerRule" | "label" | "doc">;

export interface WaitForOptions<S extends z.ZodType = z.ZodType, E extends Expand = Record<never, never>>
  extends Placed, WaitBounds, Omit<MapOptions<E, undefined>, "batch"> {
  /** What it may be ended with: a zod schema. Default none: anything. */
  readonly payload?: S | undefined;
}

/** `waitFor()`. Its output is what it was ended with, as it was sent. */
export interface WaitForOf {
  (id: string): TaskRef<unknown>;
  <S extends z.ZodType = z.ZodType, const E extends Expand = Record<never, never>>(
    id: string,
    options: WaitForOptions<S, E>,
  ): RefOf<E, Output<z.input<S>>>;
}

/** An instant; exactly one of the three. */
type Instant =
  | {
      /** So long after the end of the run's data interval. */
      readonly delay: Duration;
      readonly time?: undefined;
      readonly at?: undefined;
    }
  | {
      readonly delay?: undefined;
      /** `"06:00"` in the DAG's zone, on the day on which the data interval ends. */
      readonly time: string;
      readonly at?: undefined;
    }
  | {
      readonly delay?: undefined;
      readonly time?: undefined;
      /** An instant as a template: `"{{ ds }}T06:00"`; without an offset in the DAG's zone. The run's dates and conf are known in it. */
      readonly at: string;
    };

export type WaitUntilOptions = Placed & Instant;

/** `waitUntil()`. */
export type WaitUntilOf = (id: string, options: WaitUntilOptions) => TaskRef<null>;

export interface WaitForRunOptions
  extends
    Placed,
    WaitBounds,
    Pick<
      TaskDefaults,
      "retries" | "retryDelay" | "retryFactor" | "maxRetryDelay" | "retryJitter" | "retryRules"
    > {
  /** The other DAG, or its id. */
  readonly dag: string | Dag;
  /** This task of it. Default none: the run as a whole. */
  readonly task?: string | undefined;
  /** The other run's logical date is so much before this run's. Default 0: it is the same. */
  readonly before?: Duration | undefined;
  /** In place of `before`: the other run's logical date as a template. Default none. */
  readonly logicalDate?: string | undefined;
  /** Rest between two looks, at least a second. Default `"5s"`. */
  readonly every?: Duration | undefined;
}

/** `waitForRun()`. */
export type WaitForRunOf = (id: string, options: WaitForRunOptions) => TaskRef<null>;
