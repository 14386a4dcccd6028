/** Graphs and versions of DAGs as they leave the API; the rest, and what to import, is in `contracts.ts`. */
import { z } from "@hono/zod-openapi";
import { TRIGGER_RULES } from "../core/rules.ts";

export const instant = z.string().openapi({ format: "date-time", example: "2026-05-09T00:00:00.000Z" });
export const optionalInstant = instant.nullable();

export const Timetable = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("cron"), cron: z.string(), zone: z.string() }),
    z.object({ kind: z.literal("interval"), everyMs: z.number(), anchor: z.string() }),
    z.object({ kind: z.literal("manual") }),
  ])
  .openapi("Timetable");
export type Timetable = z.infer<typeof Timetable>;

/** Of an instance; it addresses nothing, and two may be the same. */
export const mapLabel = z
  .string()
  .optional()
  .openapi({ description: "What people read beside its index; left out: nothing" });

const MappedOver = z
  .object({
    over: z
      .record(z.string(), z.union([z.object({ task: z.string() }), z.object({ items: z.int() })]))
      .openapi({ description: "Lists by name: the task whose output each is, or how many items it has" }),
    how: z.enum(["product", "zip"]),
    batch: z.int().nullable(),
    max: z.int(),
    label: z
      .string()
      .optional()
      .openapi({ description: "Template of what people read beside an instance's index; left out: nothing" }),
    group: z.string().nullable().openapi({ description: "Id of the group that is mapped as a whole" }),
  })
  .openapi("MappedOver");

const bounds = {
  timeoutMs: z.number().nullable().openapi({ description: "null: for ever" }),
  softFail: z.literal(true).optional().openapi({ description: "Skipped after its time-out" }),
};

/** What a task waits for without a slot. */
const TaskWait = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("sensor"), everyMs: z.number(), ...bounds }),
    z.object({
      kind: z.literal("event"),
      payload: z
        .record(z.string(), z.unknown())
        .nullable()
        .openapi({ description: "JSON Schema of what it may be ended with; null: anything" }),
      ...bounds,
    }),
    z.object({
      kind: z.literal("until"),
      delayMs: z.number().optional(),
      time: z.string().optional(),
      at: z.string().optional(),
    }),
    z.object({
      kind: z.literal("run"),
      dagId: z.string(),
      taskId: z.string().nullable(),
      beforeMs: z.number(),
      logicalDate: z.string().optional(),
      everyMs: z.number(),
      ...bounds,
    }),
  ])
  .openapi("TaskWait");

/** A task of the graph with its options; its edges are in `Graph.edges`. */
export const GraphTask = z
  .object({
    id: z.string(),
    label: z.string().openapi({ description: "Empty: the id" }),
    group: z.string().nullable().openapi({ description: "Id of the innermost group around it" }),
    triggerRule: z.enum(TRIGGER_RULES),
    retries: z.int(),
    retryDelayMs: z.number(),
    retryFactor: z.number(),
    retryMaxDelayMs: z.number().nullable(),
    retryJitter: z.number().openapi({ description: "By how much of itself a delay may be shorter, 0 to 1" }),
    retryRules: z
      .array(
        z.object({
          error: z.string(),
          action: z.enum(["retry", "fail", "wait"]),
          delayMs: z.number().nullable(),
        }),
      )
      .openapi({ description: "The first that fits an error counts" }),
    executionTimeoutMs: z.number().nullable(),
    pool: z.string(),
    poolSlots: z.int(),
    priorityWeight: z.int(),
    queue: z.string(),
    isolation: z.enum(["shared", "own"]),
    templates: z.record(z.string(), z.unknown()),
    doc: z.string().openapi({ description: "Markdown" }),
    mapped: MappedOver.nullable().openapi({ description: "What it is mapped over" }),
    decides: z.enum(["branch", "short_circuit"]).nullable(),
    concurrency: z.int().nullable().openapi({ description: "So many of its instances at once in one run" }),
    maxActivePerDag: z.int().nullable().openapi({
      description: "So many of its tries at once over all runs; null: as many as its pool allows",
    }),
    cores: z.number().openapi({ description: "What a try is taken to use, in cores" }),
    setup: z.boolean(),
    teardown: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Ids of the setups it belongs to; null: it is no teardown" }),
    wait: TaskWait.optional().openapi({ description: "Left out: it waits for nothing but its upstream" }),
  })
  .openapi("GraphTask");
export type GraphTask = z.infer<typeof GraphTask>;

/** An edge by task ids; `inputs` names the inputs of `to` that `from` feeds, empty for a plain order edge. */
const GraphEdge = z
  .object({ from: z.string(), to: z.string(), inputs: z.array(z.string()) })
  .openapi("GraphEdge");

const GraphGroup = z
  .object({
    id: z.string(),
    label: z.string().openapi({ description: "Empty: the id" }),
    parent: z.string().nullable().openapi({ description: "Id of the group around it" }),
    doc: z.string().openapi({ description: "Markdown" }),
  })
  .openapi("GraphGroup");

export const Graph = z
  .object({
    doc: z.string().openapi({ description: "Markdown" }),
    params: z
      .record(z.string(), z.unknown())
      .nullable()
      .openapi({ description: "JSON Schema of what a trigger may pass as `conf`; null: anything" }),
    groups: z.array(GraphGroup).openapi({ description: "A group stands behind the one around it" }),
    tasks: z.array(GraphTask).openapi({ description: "In definition order" }),
    edges: z.array(GraphEdge),
    timetable: Timetable,
    zone: z.string().openapi({ description: "The DAG's own, in which its days begin" }),
    startDate: optionalInstant,
    endDate: optionalInstant,
    catchup: z.boolean(),
    maxActiveRuns: z.int(),
    maxActiveTasks: z
      .int()
      .nullable()
      .openapi({ description: "So many tries at once over all runs; null: as many as pools allow" }),
    runTimeoutMs: z.number().nullable(),
    runRetries: z.int().openapi({ description: "How often what failed runs again before a run fails" }),
    runRetryDelayMs: z.number(),
    maxFailedRuns: z
      .int()
      .nullable()
      .openapi({ description: "After so many failed runs in a row it is paused" }),
  })
  .openapi("Graph");
export type Graph = z.infer<typeof Graph>;

export const DagVersion = z
  .object({
    number: z.int(),
    hash: z.string(),
    file: z.string(),
    createdAt: instant,
    current: z.boolean().openapi({
      description:
        "New runs take it. Not always the newest: a file that goes back to what it was has its old number",
    }),
  })
  .openapi("DagVersion");
export type DagVersion = z.infer<typeof DagVersion>;

/** A page of versions, newest first. `before` asks for the next (older) page; null: no more. */
export const VersionList = z
  .object({ versions: z.array(DagVersion), before: z.int().nullable() })
  .openapi("VersionList");
export type VersionList = z.infer<typeof VersionList>;

const SourceFile = z.object({ path: z.string(), source: z.string() }).openapi("SourceFile");

const sourcesAt = instant.openapi({
  description: "When its sources were saved last; after `createdAt`, only remarks and blank lines changed",
});
const SourcedVersion = DagVersion.extend({ sourcesAt }).openapi("SourcedVersion");

/** A version with its TypeScript sources, the DAG's own file first. */
export const VersionDetail = SourcedVersion.extend({
  graph: Graph,
  sources: z.array(SourceFile),
}).openapi("VersionDetail");
export type VersionDetail = z.infer<typeof VersionDetail>;

const Change = z.enum(["added", "removed", "changed"]).openapi("Change");

/** `before` or `after` is missing where the field was. */
export const FieldChange = z
  .object({ field: z.string(), before: z.unknown(), after: z.unknown() })
  .openapi("FieldChange");
export type FieldChange = z.infer<typeof FieldChange>;

/** Lines begin with " ", "-" or "+", as in a unified diff; starts count from 1. */
const Hunk = z
  .object({ beforeStart: z.int(), afterStart: z.int(), lines: z.array(z.string()) })
  .openapi("Hunk");

/** What changed from version `from` to version `to`; what stayed is left out. */
export const VersionDiff = z
  .object({
    from: SourcedVersion,
    to: SourcedVersion,
    dag: z.array(FieldChange).openapi({ description: "Options of the DAG" }),
    groups: z.array(z.object({ id: z.string(), change: Change, fields: z.array(FieldChange) })),
    tasks: z.array(z.object({ id: z.string(), change: Change, fields: z.array(FieldChange) })),
    edges: z.array(
      z.object({ from: z.string(), to: z.string(), change: Change, fields: z.array(FieldChange) }),
    ),
    sources: z.array(z.object({ path: z.string(), change: Change, hunks: z.array(Hunk) })),
  })
  .openapi("VersionDiff");
export type VersionDiff = z.infer<typeof VersionDiff>;
