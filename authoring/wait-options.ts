/** The options of `sensor()`, `waitFor()`, `waitUntil()` and `waitForRun()`, and why they lack some that tasks have. */
import { definedOnly, overDefaults } from "./own-options.ts";
import {
  airflow,
  DURATION,
  option,
  OURS,
  readOptions,
  TASK_OPTIONS,
  type Option,
  type Values,
} from "./options.ts";
import * as read from "./read.ts";
import type { SensorOptions, WaitForOptions, WaitForRunOptions, WaitUntilOptions } from "./wait-types.ts";

/** Airflow's default time-out of a sensor. */
const TIMEOUT_MS = 7 * 86_400_000;
/** Airflow's default rest between two checks. */
const SENSOR_EVERY_MS = 60_000;
/** A look at another run is one query for all that wait. */
const RUN_EVERY_MS = 5_000;
/** Below it a check would be asked nearly without rest, by each of thousands that wait. */
const SHORTEST_MS = 1_000;

const BOUNDS = {
  timeout: option(
    "How long it may wait, over all its tries; then it has failed, whatever its retries. null: for ever.",
    airflow("timeout"),
    TIMEOUT_MS,
    read.orNull(read.positiveDuration),
    DURATION,
  ) as Option<number | null>,
  softFail: option(
    "It is skipped then, where it would have failed.",
    airflow("soft_fail"),
    false,
    read.boolean,
  ),
};

const every = (what: string, rule: string, fallback: number): Option<number> =>
  option(what, rule, fallback, read.durationFrom(SHORTEST_MS, '"1s"'), DURATION);

const { after, triggerRule, label, doc, expand, expandBy, maxMapped, mapLabel } = TASK_OPTIONS;
const { setup: _, teardown: __, ...UNTIED } = TASK_OPTIONS;
const PLACED = { after, triggerRule, label, doc };

/** Of a sensor alone. */
export const SENSOR_OWN_OPTIONS = {
  every: every("Rest between two checks, at least a second.", airflow("poke_interval"), SENSOR_EVERY_MS),
  ...BOUNDS,
};

const SENSOR_OPTIONS = { ...UNTIED, ...SENSOR_OWN_OPTIONS } satisfies Record<
  keyof SensorOptions,
  Option<unknown>
>;

export const WAIT_FOR_OPTIONS = {
  payload: option("What it may be ended with: a zod schema; null: anything.", OURS, null, read.anything),
  ...BOUNDS,
  ...PLACED,
  expand,
  expandBy,
  maxMapped,
  mapLabel,
} satisfies Record<keyof WaitForOptions, Option<unknown>>;

export const WAIT_UNTIL_OPTIONS = {
  delay: option(
    "So long after the end of the run's data interval.",
    airflow("TimeDeltaSensor"),
    null,
    read.orNull(read.duration),
    DURATION,
  ),
  time: option(
    "Time of day in the DAG's zone, on the day on which the data interval ends.",
    airflow("TimeSensor"),
    null,
    read.orNull(read.timeOfDay),
    "HH:MM or HH:MM:SS",
  ),
  at: option(
    "An instant as a template; without an offset in the DAG's zone.",
    airflow("DateTimeSensor"),
    null,
    read.orNull(read.text),
  ),
  ...PLACED,
} satisfies Record<keyof WaitUntilOptions, Option<unknown>>;

const { retries, retryDelay, retryFactor, maxRetryDelay, retryJitter, retryRules } = TASK_OPTIONS;
const RETRIES = { retries, retryDelay, retryFactor, maxRetryDelay, retryJitter, retryRules };

export const WAIT_FOR_RUN_OPTIONS = {
  dag: option("The other DAG, or its id.", airflow("external_dag_id"), undefined, read.anything),
  task: option(
    "This task of it; null: the run as a whole.",
    airflow("external_task_id"),
    null,
    read.orNull(read.id),
  ),
  before: option(
    "The other run's logical date is so much before this run's.",
    airflow("execution_delta"),
    0,
    read.duration,
    DURATION,
  ),
  logicalDate: option(
    "In place of before: the other run's logical date as a template.",
    airflow("execution_date_fn"),
    null,
    read.orNull(read.text),
  ),
  every: every("Rest between two looks, at least a second.", airflow("poke_interval"), RUN_EVERY_MS),
  ...BOUNDS,
  ...RETRIES,
  ...PLACED,
} satisfies Record<keyof WaitForRunOptions, Option<unknown>>;

type Reasons = Readonly<Record<string, string>>;

const reasons = (why: string, keys: readonly string[]): Reasons =>
  Object.fromEntries(keys.map((key) => [key, why]));

const NO_SETUP = reasons("only a task prepares something or takes it away", ["setup", "teardown"]);

/** Of waits without a body. */
const NO_BODY: Reasons = {
  ...NO_SETUP,
  ...reasons("it holds no slot while it waits", [
    "pool",
    "poolSlots",
    "cores",
    "priorityWeight",
    "weightRule",
    "maxActivePerRun",
    "maxActivePerDag",
  ]),
  ...reasons("it has no body that a worker would run", ["queue", "isolation"]),
  ...reasons("it has no body that would read them, and after orders without reading", [
    "inputs",
    "templates",
  ]),
  ...reasons("it has no body whose tries it would bound", ["executionTimeout"]),
  ...reasons("it has no body that would get several items at once", ["batch"]),
};
const NOTHING_FAILS = reasons(
  "it has no body, and so nothing that could be tried again",
  Object.keys(RETRIES),
);
const NOT_MAPPED = reasons("all instances would wait for the same; in a mapped group it is mapped too", [
  "expand",
  "expandBy",
  "maxMapped",
  "mapLabel",
]);
const ENDS_BY_ITSELF = reasons("its instant comes by itself", ["timeout", "softFail", "every"]);

type Given = Readonly<Record<string, unknown>>;

export const readSensorOptions = (
  options: unknown,
  defaults: Given,
  where: string,
): Values<typeof SENSOR_OPTIONS> =>
  readOptions(SENSOR_OPTIONS, overDefaults(options, defaults), where, NO_SETUP);

export const readWaitForOptions = (options: unknown, where: string): Values<typeof WAIT_FOR_OPTIONS> =>
  readOptions(WAIT_FOR_OPTIONS, overDefaults(options, {}), where, {
    ...NO_BODY,
    ...NOTHING_FAILS,
    every: "somebody ends it, and nothing is checked",
  });

export const readWaitUntilOptions = (options: unknown, where: string): Values<typeof WAIT_UNTIL_OPTIONS> =>
  readOptions(WAIT_UNTIL_OPTIONS, overDefaults(options, {}), where, {
    ...NO_BODY,
    ...NOTHING_FAILS,
    ...NOT_MAPPED,
    ...ENDS_BY_ITSELF,
  });

/** Of the defaults around it, those of its retries. */
export function readWaitForRunOptions(
  options: unknown,
  defaults: Given,
  where: string,
): Values<typeof WAIT_FOR_RUN_OPTIONS> {
  const own = Object.entries(definedOnly(defaults)).filter(([key]) => Object.hasOwn(RETRIES, key));
  const given = overDefaults(options, Object.fromEntries(own));
  return readOptions(WAIT_FOR_RUN_OPTIONS, given, where, { ...NO_BODY, ...NOT_MAPPED });
}
