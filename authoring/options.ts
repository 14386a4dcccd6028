/**
 * The options of `dag()` and `task()`: one table each, with unit, default, a line of help and the check.
 * `docs` and messages are made from them; a key missing here does not compile.
 */
import { optionMeant } from "../core/airflow-names.ts";
import { DefinitionError, MeridianError } from "../core/errors.ts";
import { DEFAULT_POOL } from "../core/ids.ts";
import { TRIGGER_RULES } from "../core/rules.ts";
import * as read from "./read.ts";
import type { Reader } from "./read.ts";
import { retryRules } from "./read-retry-rules.ts";
import { show } from "./show.ts";
import type { Expand, MapOptions } from "./map-types.ts";
import type { SwitchOptions, Targets } from "./tool-types.ts";
import type { DagOptions, GroupOptions, Inputs, TaskDefaults, TaskOptions } from "./types.ts";

export interface Option<T> {
  readonly doc: string;
  /** Where its meaning and its default come from. */
  readonly rule: string;
  readonly unit?: string;
  readonly fallback: T;
  readonly read: Reader<T>;
}

export const option = <T>(
  doc: string,
  rule: string,
  fallback: NoInfer<T>,
  reader: Reader<T>,
  unit?: string,
): Option<T> =>
  unit === undefined ? { doc, rule, fallback, read: reader } : { doc, rule, unit, fallback, read: reader };

/** Sources of rules. */
export const airflow = (name: string): string => `Airflow \`${name}\``;
export const OURS = "Meridian";

export const DURATION = "milliseconds, or text with its unit";

/** Airflow's default wait before a retry. */
const RETRY_DELAY_MS = 300_000;

/** Airflow's default of instances of one task. */
export const MAX_MAPPED = 1024;
/** One run carries all its instances. */
const MOST_MAPPED = 100_000;

/** Options of a task that `defaults` of its DAG may set too. */
export const TASK_DEFAULTS = {
  retries: option(
    "How many tries may follow a failed first one.",
    airflow("retries"),
    0,
    read.whole(0, 1_000),
    "tries",
  ),
  retryDelay: option("Wait before a retry.", airflow("retry_delay"), RETRY_DELAY_MS, read.duration, DURATION),
  retryFactor: option(
    "Each further wait is this many times the one before.",
    `${airflow("retry_exponential_backoff")}: 2`,
    1,
    read.number(1, 100),
  ),
  maxRetryDelay: option(
    "The longest wait that retryFactor may reach.",
    airflow("max_retry_delay"),
    null,
    read.orNull(read.duration),
    DURATION,
  ),
  retryJitter: option(
    "By how much of itself a wait may be shorter, from 0 to 1.",
    `${OURS}; Airflow's back-off has some always`,
    0,
    read.number(0, 1),
  ),
  retryRules: option(
    "What to do about errors of one kind: the first that fits counts.",
    OURS,
    [],
    retryRules,
  ),
  executionTimeout: option(
    "Bound of one try.",
    airflow("execution_timeout"),
    null,
    read.orNull(read.positiveDuration),
    DURATION,
  ),
  pool: option("The pool whose slots a try holds.", airflow("pool"), DEFAULT_POOL, read.id),
  poolSlots: option(
    "How many of the pool's slots a try holds.",
    airflow("pool_slots"),
    1,
    read.whole(1, 32_767),
    "slots",
  ),
  cores: option(
    "What a try is taken to use, for compute-hours and caps of limits; it bounds nothing itself.",
    OURS,
    1,
    read.above0(10_000),
    "cores",
  ),
  priorityWeight: option(
    "Higher goes first within a pool.",
    airflow("priority_weight"),
    1,
    read.whole(-1_000_000, 1_000_000),
  ),
  weightRule: option(
    "Whose priorityWeight counts beside the task's own: nobody's, that of all before it, or of all after it.",
    `${airflow("weight_rule")}; there \`"downstream"\``,
    "absolute",
    read.oneOf("absolute", "upstream", "downstream"),
  ),
  queue: option(
    "Which workers take the task: the queue profile they serve.",
    airflow("queue"),
    "default",
    read.id,
  ),
  isolation: option(
    "Where the body runs: in a thread shared with others, or in a process of its own.",
    OURS,
    "shared",
    read.oneOf("shared", "own"),
  ),
} satisfies Record<keyof TaskDefaults, Option<unknown>>;

/** Options of a task and of a group that is mapped. */
const MAP_OPTIONS = {
  expand: option(
    "Lists to map over, by name: outputs of tasks, or lists written here.",
    airflow("expand"),
    {},
    read.record,
  ),
  expandBy: option(
    "Several lists: each item with each (product), or the first with the first (zip).",
    `${airflow("expand")}, \`XComArg.zip\``,
    "product",
    read.oneOf("product", "zip"),
  ),
  batch: option(
    "So many items of the one list an instance, given as a list; null: one, and not as a list.",
    OURS,
    null,
    read.orNull(read.whole(1, 1_000_000)),
    "items",
  ),
  maxMapped: option(
    "More instances than this fail the task before any begins.",
    airflow("max_map_length"),
    MAX_MAPPED,
    read.whole(1, MOST_MAPPED),
    "instances",
  ),
  mapLabel: option(
    "What people read beside an instance's index: a text with {{ … }} over its item; empty: nothing.",
    airflow("map_index_template"),
    "",
    read.text,
  ),
} satisfies Record<keyof MapOptions<Expand, number>, Option<unknown>>;

const LABEL = option("What people read instead of the id; empty: the id.", OURS, "", read.text);

export const TASK_OPTIONS = {
  ...TASK_DEFAULTS,
  inputs: option(
    "Upstream tasks whose outputs the body reads, by name.",
    `${OURS}; Airflow's XCom`,
    {},
    read.record,
  ),
  after: option(
    "Upstream tasks, and groups of them, to wait for without reading them.",
    `${airflow("set_upstream")}`,
    [],
    read.tasks,
  ),
  triggerRule: option(
    "Which states of the upstream tasks let this one run.",
    airflow("trigger_rule"),
    "all_success",
    read.oneOf(...TRIGGER_RULES),
  ),
  templates: option(
    "Texts with {{ … }}, rendered for each try into the body's templates.",
    airflow("templates_dict"),
    {},
    read.record,
  ),
  ...MAP_OPTIONS,
  maxActivePerRun: option(
    "Of a mapped task: so many of its instances at once in one run; null: all.",
    airflow("max_active_tis_per_dagrun"),
    null,
    read.orNull(read.whole(1, MOST_MAPPED)),
    "instances",
  ),
  maxActivePerDag: option(
    "So many tries of the task at once over all runs of its DAG; null: as many as its pool allows.",
    airflow("max_active_tis_per_dag"),
    null,
    read.orNull(read.whole(1, 1_000_000)),
    "tries",
  ),
  setup: option(
    "It prepares what its teardowns take away again.",
    `${airflow("as_setup")}`,
    false,
    read.boolean,
  ),
  teardown: option(
    "The setups whose work it takes away, however the work went; true: of no setup; null: it is no teardown.",
    airflow("as_teardown"),
    null,
    read.setups,
  ),
  label: LABEL,
  doc: option("Markdown for the page.", airflow("doc_md"), "", read.text),
} satisfies Record<keyof TaskOptions<Inputs>, Option<unknown>>;

/** Of a switch alone. */
export const SWITCH_OWN_OPTIONS = {
  cases: option("What follows, by the body's answer.", OURS, {}, read.record),
  otherwise: option(
    "What follows any other answer; left out: such an answer fails the task.",
    OURS,
    undefined,
    read.anything,
  ),
} satisfies Record<
  Exclude<keyof SwitchOptions<Record<string, Targets>, Targets>, keyof TaskOptions<Inputs>>,
  Option<unknown>
>;

export const SWITCH_OPTIONS = { ...TASK_OPTIONS, ...SWITCH_OWN_OPTIONS };

export const GROUP_OPTIONS = {
  prefix: option("Ids inside begin with the group's.", airflow("prefix_group_id"), true, read.boolean),
  defaults: option(
    "Options of the tasks inside that do not set them themselves.",
    airflow("default_args"),
    {},
    read.record,
  ),
  ...MAP_OPTIONS,
  label: LABEL,
  doc: option("Markdown for the page.", airflow("tooltip"), "", read.text),
} satisfies Record<keyof GroupOptions, Option<unknown>>;

/** How many runs of a DAG may be active at once unless it says otherwise; Airflow's number. */
const DEFAULT_MAX_ACTIVE_RUNS = 16;

export const DAG_OPTIONS = {
  schedule: option(
    "Cron text, preset, { every, anchor } or null (by hand).",
    airflow("schedule"),
    null,
    read.anything,
  ),
  zone: option("IANA zone of schedule, dates and ds.", `${airflow("start_date")}'s zone`, "UTC", read.zone),
  startDate: option(
    "No interval begins before this.",
    airflow("start_date"),
    null,
    read.orNull(read.dateInput),
  ),
  endDate: option(
    "The last logical date, inclusive.",
    airflow("end_date"),
    null,
    read.orNull(read.dateInput),
  ),
  catchup: option("Run every interval since startDate.", airflow("catchup"), false, read.boolean),
  maxActiveRuns: option(
    "How many runs may be active at once.",
    airflow("max_active_runs"),
    DEFAULT_MAX_ACTIVE_RUNS,
    read.whole(1, 100_000),
    "runs",
  ),
  maxActiveTasks: option(
    "How many tries may be under way at once over all its runs; null: as many as their pools allow.",
    `${airflow("max_active_tasks")}, there 16`,
    null,
    read.orNull(read.whole(1, 1_000_000)),
    "tries",
  ),
  runTimeout: option(
    "Bound of a run; a longer one is ended as failed.",
    airflow("dagrun_timeout"),
    null,
    read.orNull(read.positiveDuration),
    DURATION,
  ),
  runRetries: option(
    "How often what failed in a run runs again before the run fails.",
    OURS,
    0,
    read.whole(0, 100),
    "times",
  ),
  runRetryDelay: option("Rest before that.", OURS, RETRY_DELAY_MS, read.duration, DURATION),
  maxFailedRuns: option(
    "After so many failed runs in a row the DAG is paused.",
    airflow("max_consecutive_failed_dag_runs"),
    null,
    read.orNull(read.whole(1, 1_000)),
    "runs",
  ),
  params: option(
    "What a run may be triggered with: a zod object; null: any conf.",
    airflow("params"),
    null,
    read.anything,
  ),
  description: option("One line.", airflow("description"), "", read.text),
  owner: option("Who answers for it.", `${airflow("owner")}, of the DAG`, "", read.text),
  tags: option("Words to find it by.", airflow("tags"), [], read.texts),
  doc: option("Markdown for the page.", airflow("doc_md"), "", read.text),
  defaults: option(
    "Options of every task that does not set them itself.",
    airflow("default_args"),
    {},
    read.record,
  ),
} satisfies Record<keyof DagOptions, Option<unknown>>;

type Table = Readonly<Record<string, Option<unknown>>>;
export type Values<T extends Table> = { readonly [K in keyof T]: T[K]["fallback"] };

/**
 * The values of a set of options: each checked, absent ones at their default, unknown ones refused. `senseless`: why an
 * option that other kinds of task have is not among them.
 */
export function readOptions<T extends Table>(
  table: T,
  given: unknown,
  where: string,
  senseless: Readonly<Record<string, string>> = {},
): Values<T> {
  const asked = givenOptions(given, where);
  const known = Object.keys(table);
  for (const key of Object.keys(asked)) {
    if (Object.hasOwn(table, key)) continue;
    if (Object.hasOwn(senseless, key)) {
      throw new DefinitionError(
        "bad_option",
        `${where}: option ${JSON.stringify(key)} means nothing here: ${senseless[key]!}; leave it out`,
      );
    }
    const instead = optionMeant(key, known) || `; expected one of ${known.join(", ")}`;
    throw new DefinitionError(
      "unknown_option",
      `${where}: option ${JSON.stringify(key)} does not exist${instead}`,
    );
  }
  return Object.fromEntries(
    known.map((key) => [key, readOption(table[key]!, key, asked[key], where)]),
  ) as Values<T>;
}

function givenOptions(given: unknown, where: string): Readonly<Record<string, unknown>> {
  const answer = read.record(given ?? {});
  if ("value" in answer) return answer.value;
  throw new DefinitionError(
    "bad_option",
    `${where}: its options are ${show(given)}; expected an object such as { retries: 2 }`,
  );
}

function readOption(option: Option<unknown>, key: string, value: unknown, where: string): unknown {
  if (value === undefined) return option.fallback;
  const answer = within(`${where}: option "${key}"`, () => option.read(value));
  if ("value" in answer) return answer.value;
  throw new DefinitionError(
    "bad_option",
    `${where}: option "${key}" is ${show(value)}${answer.hint || `; expected ${answer.expected}`}`,
  );
}

/** Runs a check that does not know where it is, and names the place in its message. */
export function within<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof MeridianError)) throw error;
    throw new DefinitionError(error.code, `${where}: ${error.message}`, {
      cause: error,
      details: error.details,
    });
  }
}
