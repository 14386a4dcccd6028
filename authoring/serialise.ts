/** From a collected DAG to its serial graph. Deterministic: the same file gives the same bytes. */
import { effectiveWeights } from "./weights.ts";
import { isoOf, parseInstant } from "../core/calendar/dates.ts";
import { parseSchedule } from "../core/calendar/timetable.ts";
import type { Timetable } from "../core/calendar/timetable.ts";
import { DefinitionError } from "../core/errors.ts";
import { GRAPH_FORMAT } from "../core/graph.ts";
import type { SerialGraph, SerialGroup, SerialTask } from "../core/graph.ts";
import { runTaskOf } from "../core/plan.ts";
import type { DraftGroup, DraftMap, DraftTask } from "./draft.ts";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import { within } from "./options.ts";
import type { DAG_OPTIONS, Values } from "./options.ts";
import { toOutput } from "./output.ts";
import type { Params } from "./params.ts";
import { show } from "./show.ts";
import type { DateInput } from "./types.ts";

export function serialise(
  dagId: string,
  options: Values<typeof DAG_OPTIONS>,
  params: Params | null,
  groups: readonly DraftGroup[],
  tasks: readonly DraftTask[],
  maps: readonly DraftMap[],
): SerialGraph {
  const { zone } = options;
  const startAt = instant("startDate", options.startDate, zone);
  const endAt = instant("endDate", options.endDate, zone);
  if (startAt !== null && endAt !== null && endAt < startAt) {
    throw new DefinitionError(
      "end_before_start",
      `endDate ${isoOf(endAt)} is before startDate ${isoOf(startAt)}; the DAG would never run: correct one of them`,
    );
  }
  const weights = effectiveWeights(tasks);
  const serial = tasks.map((task, position) => serialTask(task, weights[position]!));
  checkSize(serial, maps);
  const graph: SerialGraph = {
    format: GRAPH_FORMAT,
    dagId,
    description: options.description,
    doc: options.doc,
    owner: options.owner,
    tags: options.tags,
    timetable: within('option "schedule"', () => timetableOf(options.schedule, zone)),
    zone,
    startDate: startAt === null ? null : isoOf(startAt),
    endDate: endAt === null ? null : isoOf(endAt),
    catchup: options.catchup,
    maxActiveRuns: options.maxActiveRuns,
    ...(options.maxActiveTasks !== null && { maxActiveTasks: options.maxActiveTasks }),
    ...(options.runTimeout !== null && { runTimeoutMs: options.runTimeout }),
    ...(options.runRetries > 0 && {
      runRetries: options.runRetries,
      runRetryDelayMs: options.runRetryDelay,
    }),
    ...(options.maxFailedRuns !== null && { maxFailedRuns: options.maxFailedRuns }),
    params: params === null ? null : params.jsonSchema,
    groups: groups.map(serialGroup),
    tasks: serial,
    ...(maps.length > 0 && { maps }),
  };
  const { tasks: _, groups: __, ...own } = graph;
  checkTexts("", own);
  for (const group of graph.groups) checkTexts(`group "${group.id}": `, group);
  for (const task of graph.tasks) checkTexts(`task "${task.id}": `, task);
  return graph;
}

/** What PostgreSQL would refuse, with the path to it. */
function checkTexts(where: string, part: object): void {
  for (const [option, value] of Object.entries(part)) {
    const checked = toOutput(value, undefined, `option "${option}"`);
    if (!checked.ok) throw new DefinitionError("bad_option", `${where}${checked.error.message}`);
  }
}

/** A run keeps its tasks in Temporal's history, which takes 2 MB at a time. */
const LARGEST_CHARS = 1_500_000;

function checkSize(tasks: readonly SerialTask[], maps: readonly DraftMap[]): void {
  const chars = JSON.stringify([tasks.map(runTaskOf), maps]).length;
  if (chars <= LARGEST_CHARS) return;
  throw new DefinitionError(
    "graph_too_large",
    `its ${tasks.length} tasks and their edges are ${(chars / 1e6).toFixed(1)} MB as JSON, more than the ${LARGEST_CHARS / 1e6} MB that a run can carry: put a task between many that all wait for the same many, or split the DAG`,
  );
}

function serialGroup({ id, parent, options }: DraftGroup): SerialGroup {
  return { id, parent, label: options.label, doc: options.doc };
}

/** What is at its default and newer than the first graphs is left out: a graph without it has the hash it had. */
function serialTask(task: DraftTask, priorityWeight: number): SerialTask {
  const { id, group, options, inputs, items, map, teardown, decides, upstream, templates, wait } = task;
  return {
    id,
    label: options.label,
    group,
    upstream: [...upstream].sort((a, b) => a - b),
    inputs,
    triggerRule: teardown === null ? options.triggerRule : "all_done",
    retries: options.retries,
    retryDelayMs: options.retryDelay,
    retryFactor: options.retryFactor,
    retryMaxDelayMs: options.maxRetryDelay,
    executionTimeoutMs: options.executionTimeout,
    pool: options.pool,
    poolSlots: options.poolSlots,
    priorityWeight,
    queue: options.queue,
    isolation: options.isolation,
    templates: templates === null ? {} : templates.given,
    doc: options.doc,
    ...(options.retryJitter > 0 && { retryJitter: options.retryJitter }),
    ...(options.retryRules.length > 0 && { retryRules: options.retryRules }),
    ...(map !== null && { map }),
    ...(Object.keys(items).length > 0 && { items }),
    ...(options.maxActivePerRun !== null && { concurrency: options.maxActivePerRun }),
    ...(options.cores !== 1 && { cores: options.cores }),
    ...(options.maxActivePerDag !== null && { maxActivePerDag: options.maxActivePerDag }),
    ...(decides !== null && { decides }),
    ...(wait !== null && { wait }),
    ...(options.setup && { setup: true as const }),
    ...(teardown !== null && { teardown }),
  };
}

function instant(name: string, value: DateInput | null, zone: string): number | null {
  if (value === null) return null;
  return typeof value === "string"
    ? within(`option "${name}"`, () => parseInstant(value, zone))
    : value.getTime();
}

/** `{ every: "10m" }` in the calendar's own words; all else as it is. */
function timetableOf(schedule: unknown, zone: string): Timetable {
  if (typeof schedule !== "object" || schedule === null || !("every" in schedule)) {
    return parseSchedule(schedule, zone);
  }
  const { every, ...rest } = schedule;
  const everyMs = parseDuration(every);
  if (everyMs === undefined || everyMs === 0) {
    throw new DefinitionError(
      "schedule_invalid",
      `every is ${show(every)}; expected ${DURATION_RULE}, above 0`,
    );
  }
  return parseSchedule({ ...rest, everyMs }, zone);
}
