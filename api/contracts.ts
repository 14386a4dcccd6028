/**
 * Every shape that leaves the API, and every body it takes. Instants are ISO 8601 in UTC; only grid cells, of which
 * there are many, hold epoch ms. Import the types; the schemas also make the OpenAPI document.
 */
import { z } from "@hono/zod-openapi";
import { TASK_STATES, TRY_STATES } from "../core/states.ts";
import { DagVersion, Graph, instant, mapLabel, optionalInstant } from "./contracts-graph.ts";
import { TryWait } from "./contracts-waits.ts";
import { Interval, Run, RunState, RunType } from "./contracts-runs.ts";

export {
  DagVersion,
  FieldChange,
  Graph,
  GraphTask,
  Timetable,
  VersionDetail,
  VersionDiff,
  VersionList,
} from "./contracts-graph.ts";
export { Pool, PoolHistory, PoolList, PoolWork } from "./contracts-pools.ts";
export type { ImpossibleRequest, PoolWorkItem } from "./contracts-pools.ts";
export { Interval, ListedRun, Run, RunList, RunTasks } from "./contracts-runs.ts";

const TaskState = z.enum(TASK_STATES).openapi("TaskState");
const TryState = z.enum(TRY_STATES).openapi("TryState");

/** RFC 9457. `code` is stable; match on it. */
export const Problem = z
  .object({
    type: z.string().openapi({ example: "about:blank" }),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    details: z.record(z.string(), z.unknown()),
  })
  .openapi("Problem");
export type Problem = z.infer<typeof Problem>;

export const Health = z
  .object({
    status: z.enum(["ok", "degraded"]),
    version: z.string(),
    database: z.object({ reachable: z.boolean(), migration: z.int().nullable() }),
    temporal: z.object({ known: z.boolean(), web: z.string().nullable(), namespace: z.string().nullable() }),
  })
  .openapi("Health");
export type Health = z.infer<typeof Health>;

/** What is wrong with a DAG though it runs, such as versions that pile up. `code` is stable. */
export const DagWarning = z.object({ code: z.string(), message: z.string() }).openapi("DagWarning");
export type DagWarning = z.infer<typeof DagWarning>;

const LastRun = z.object({ runId: z.string(), state: RunState, logicalDate: instant }).openapi("LastRun");

export type LastRun = z.infer<typeof LastRun>;

export const DagSummary = z
  .object({
    dagId: z.string(),
    description: z.string(),
    owner: z.string(),
    tags: z.array(z.string()),
    schedule: z.string().openapi({ description: "The timetable in words" }),
    paused: z.boolean(),
    pauseReason: z.string().nullable(),
    pausedBy: z.string().nullable(),
    active: z.boolean().openapi({ description: "false: its file is gone or defines it no more" }),
    nextDueAt: optionalInstant,
    nextInterval: Interval.nullable().openapi({ description: "Of the run due at `nextDueAt`" }),
    version: z.int().nullable(),
    lastRuns: z.array(LastRun).openapi({ description: "At most 10, newest last" }),
    importError: z.boolean(),
  })
  .openapi("DagSummary");
export type DagSummary = z.infer<typeof DagSummary>;

/** A page of DAGs by id. `total` counts all that match; `after` asks for the next page; null: no more. */
export const DagList = z
  .object({ dags: z.array(DagSummary), total: z.int(), after: z.string().nullable() })
  .openapi("DagList");
export type DagList = z.infer<typeof DagList>;

export const DagDetail = DagSummary.extend({
  file: z.string(),
  graph: Graph.nullable().openapi({ description: "Of the current version" }),
  versionSince: optionalInstant.openapi({ description: "When `version` was put in force, maybe again" }),
  versionBefore: z.int().nullable().openapi({ description: "The version in force before it" }),
  versions: z.array(DagVersion).openapi({ description: "Newest first, at most 100" }),
  warnings: z.array(DagWarning),
  uncovered: z.unknown().openapi({
    description: "The stretch that a change of timetable left without a run, or null",
  }),
}).openapi("DagDetail");
export type DagDetail = z.infer<typeof DagDetail>;

/** A row of the grid. `removed`: only older runs have it, the current version does not. */
export const GridTask = z
  .object({ id: z.string(), upstream: z.array(z.int()), removed: z.boolean() })
  .openapi("GridTask");
export type GridTask = z.infer<typeof GridTask>;

/** A column of the grid. */
export const GridRun = z
  .object({
    key: z.string(),
    runId: z.string(),
    runType: RunType,
    state: RunState,
    logicalDate: instant,
    interval: Interval,
    startedAt: optionalInstant,
    endedAt: optionalInstant,
    version: z.int(),
  })
  .openapi("GridRun");
export type GridRun = z.infer<typeof GridRun>;

/** `[index in tasks, index in states, try, started in epoch ms, ended in epoch ms]`. */
export const GridCell = z
  .tuple([z.int(), z.int(), z.int(), z.number().nullable(), z.number().nullable()])
  .openapi("GridCell");
export type GridCell = z.infer<typeof GridCell>;

/** Instances of a mapped task that are in one state, as one cell with how many they are; then up to four of their labels. */
const MappedCell = z
  .tuple([z.int(), z.int(), z.int(), z.number().nullable(), z.number().nullable(), z.int()], z.string())
  .openapi("MappedCell");
export type MappedCell = z.infer<typeof MappedCell>;

/** `cells[i]` belongs to `runs[i]`; a task without a cell has not been asked for yet ("none"). */
export const Grid = z
  .object({
    dagId: z.string(),
    paused: z.boolean(),
    version: z.int().nullable(),
    states: z.array(TaskState).openapi({ description: "What the state numbers in cells mean" }),
    tasks: z.array(GridTask),
    runs: z.array(GridRun).openapi({ description: "Newest last" }),
    cells: z.array(z.array(GridCell)),
    mapped: z
      .array(z.array(MappedCell))
      .openapi({ description: "Beside `cells`, in the same order of runs: instances of mapped tasks" }),
    before: z.string().nullable().openapi({ description: "Ask with it for older runs; null: no more" }),
  })
  .openapi("Grid");
export type Grid = z.infer<typeof Grid>;

/** A task, or one mapped instance of it, within a run. */
export const Cell = z
  .object({
    taskId: z.string(),
    mapIndex: z.int().openapi({ description: "-1: not mapped" }),
    mapLabel,
    state: TaskState,
    try: z.int(),
    queuedAt: optionalInstant,
    startedAt: optionalInstant,
    endedAt: optionalInstant,
  })
  .openapi("Cell");
export type Cell = z.infer<typeof Cell>;

/**
 * A request for slots that has not been granted, a try that has its slots and that no worker has taken up for 6 s, or a
 * task that waits without a slot (`slots` 0). `taskId` null: the run itself waits to begin.
 */
export const Waiting = z
  .object({
    taskId: z.string().nullable(),
    mapIndex: z.int(),
    try: z.int(),
    pool: z.string().nullable().openapi({
      description: "null: it waits for the DAG's active runs, or without a slot",
    }),
    slots: z.int(),
    reason: z.string().nullable(),
    since: instant,
  })
  .openapi("Waiting");
export type Waiting = z.infer<typeof Waiting>;

export const RunDetail = Run.extend({
  conf: z.record(z.string(), z.unknown()),
  priority: z.int().openapi({ description: "By hand: added to what its place and its tries ask with" }),
  cells: z.array(Cell),
  waiting: z.array(Waiting).openapi({ description: "Oldest first, at most 1000" }),
  workflowId: z.string(),
  temporalUrl: z.string().nullable(),
}).openapi("RunDetail");
export type RunDetail = z.infer<typeof RunDetail>;

const BodyError = z
  .object({ code: z.string(), message: z.string(), stack: z.string().optional() })
  .openapi("BodyError");

/** Why a try waited for its slots, from when to when. */
const Waited = z.object({ reason: z.string(), since: instant, until: instant }).openapi("Waited");
export type Waited = z.infer<typeof Waited>;

const held = {
  waited: z.array(Waited).openapi({ description: "Why it waited for its slots, a second and more each" }),
  waits: z.array(TryWait).openapi({ description: "What it waited for without a slot, or waits for now" }),
};

export const Try = z
  .object({
    try: z.int(),
    state: TryState,
    worker: z.string().nullable(),
    queuedAt: optionalInstant,
    startedAt: optionalInstant,
    endedAt: optionalInstant,
    error: BodyError.nullable(),
    output: z.unknown(),
    stored: z
      .object({ bytes: z.int(), href: z.string() })
      .nullable()
      .openapi({ description: "An output too large to stand here: its JSON is read from `href`" }),
    ...held,
  })
  .openapi("Try");
export type Try = z.infer<typeof Try>;

const TryNotBegun = z.object({ try: z.int(), ...held }).openapi("TryNotBegun");

/** `waiting` says why the next try has not begun, or what the last one waits for; null: it does not wait. */
export const TryList = z
  .object({
    taskId: z.string(),
    mapIndex: z.int(),
    mapLabel,
    state: TaskState,
    tries: z.array(Try).openapi({ description: "First try first" }),
    notBegun: z.array(TryNotBegun).openapi({
      description: "Tries that have waited and not begun, or whose waits were ended ahead of them",
    }),
    waiting: Waiting.nullable(),
  })
  .openapi("TryList");
export type TryList = z.infer<typeof TryList>;

/** A piece of a try's log. Ask again from `nextOffset` until `done`. */
export const LogPiece = z
  .object({ text: z.string(), nextOffset: z.int(), done: z.boolean() })
  .openapi("LogPiece");
export type LogPiece = z.infer<typeof LogPiece>;

export const ImportError = z
  .object({
    file: z.string(),
    code: z.string(),
    message: z.string(),
    stack: z.string().nullable(),
    line: z.int().nullable().openapi({ description: "As in `place`" }),
    place: z
      .object({ file: z.string(), line: z.int(), column: z.int().nullable() })
      .nullable()
      .openapi({ description: "Where it is: in `file`, or in a module that it imports" }),
    checkedAt: instant,
    dagIds: z.array(z.string()).openapi({ description: "DAGs that its last good version defines" }),
  })
  .openapi("ImportError");
export type ImportError = z.infer<typeof ImportError>;

export const ImportErrorList = z.object({ errors: z.array(ImportError) }).openapi("ImportErrorList");
export type ImportErrorList = z.infer<typeof ImportErrorList>;

/** A file of the DAG folder as the processor last saw it. */
export const DagFile = z
  .object({
    file: z.string(),
    dagIds: z.array(z.string()),
    checkedAt: optionalInstant.openapi({ description: "When it was last imported" }),
    storedAt: optionalInstant.openapi({ description: "When an import last changed what is stored" }),
    importMs: z.number().nullable().openapi({ description: "Length of its last import" }),
    queueMs: z.number().nullable().openapi({ description: "How long its last change waited for its import" }),
    error: ImportError.nullable(),
    warnings: z.array(DagWarning),
  })
  .openapi("DagFile");
export type DagFile = z.infer<typeof DagFile>;

/** A page of files by name. `after` asks for the next page; null: no more. */
export const DagFileList = z
  .object({ files: z.array(DagFile), total: z.int(), after: z.string().nullable() })
  .openapi("DagFileList");
export type DagFileList = z.infer<typeof DagFileList>;

/** Runs that are to come, if the DAG stays as it is. */
export const NextRuns = z
  .object({ runs: z.array(z.object({ logicalDate: instant, interval: Interval, dueAt: instant })) })
  .openapi("NextRuns");
export type NextRuns = z.infer<typeof NextRuns>;

const Count = z.object({ name: z.string(), dags: z.int() });

/** What the active DAGs can be filtered by, with how many each keeps; by name. */
export const DagFacets = z.object({ tags: z.array(Count), owners: z.array(Count) }).openapi("DagFacets");
export type DagFacets = z.infer<typeof DagFacets>;

/**
 * The data of an event `changes` of `GET /events`: what is new since the last one, coalesced. An event `reload` says
 * that changes may have been missed: ask for everything anew.
 */
export const Changes = z
  .object({
    runs: z.array(Run),
    cells: z.array(z.object({ dagId: z.string(), runId: z.string(), cells: z.array(Cell) })),
    dags: z.array(z.string()).openapi({ description: "DAGs paused, unpaused, or with a new version" }),
    dial: z.literal(true).optional().openapi({ description: "The emergency dial was turned" }),
  })
  .openapi("Changes");
export type Changes = z.infer<typeof Changes>;

export const PauseState = z
  .object({ dagId: z.string(), paused: z.boolean(), reason: z.string().nullable() })
  .openapi("PauseState");
export type PauseState = z.infer<typeof PauseState>;

export const TriggeredRun = z
  .object({
    dagId: z.string(),
    runId: z.string(),
    state: z.enum(["queued", "running"]),
    workflowId: z.string(),
    temporalUrl: z.string().nullable(),
  })
  .openapi("TriggeredRun");
export type TriggeredRun = z.infer<typeof TriggeredRun>;
