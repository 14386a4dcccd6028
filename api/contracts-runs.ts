/** Runs as lists and other shapes show them. */
import { z } from "@hono/zod-openapi";
import { RUN_STATES, RUN_TYPES } from "../core/states.ts";
import { instant, mapLabel, optionalInstant } from "./contracts-graph.ts";

export const RunState = z.enum(RUN_STATES).openapi("RunState");
export const RunType = z.enum(RUN_TYPES).openapi("RunType");

export const Interval = z.object({ start: instant, end: instant }).openapi("Interval");
export type Interval = z.infer<typeof Interval>;

/** A run as lists show it. `key` pages: pass the last one as `before`. */
export const Run = z
  .object({
    key: z.string(),
    dagId: z.string(),
    runId: z.string(),
    runType: RunType,
    state: RunState,
    logicalDate: instant,
    interval: Interval,
    queuedAt: instant,
    startedAt: optionalInstant,
    endedAt: optionalInstant,
    version: z.int().openapi({ description: "Number of the DAG's version the run began with" }),
    triggeredBy: z.string().nullable(),
    reason: z.string().nullable().openapi({ description: "Why it waits, or why it failed" }),
  })
  .openapi("Run");
export type Run = z.infer<typeof Run>;

/** How many tasks of a run are at work, wait to begin, to be tried again or for an event, or failed; and which failed first. */
export const RunTasks = z
  .object({
    running: z.int(),
    waiting: z.int(),
    failed: z.int(),
    firstFailed: z.object({ taskId: z.string(), mapIndex: z.int(), mapLabel }).nullable(),
  })
  .openapi("RunTasks");
export type RunTasks = z.infer<typeof RunTasks>;

export const ListedRun = Run.extend({
  tasks: RunTasks.nullable().openapi({
    description: "With `tasks=true`, of a run that is running or failed and has 1 to 1,000 cells",
  }),
}).openapi("ListedRun");
export type ListedRun = z.infer<typeof ListedRun>;

/** A page of runs. `before` asks for the next (older) page; null: no more. */
export const RunList = z
  .object({ runs: z.array(ListedRun), before: z.string().nullable() })
  .openapi("RunList");
export type RunList = z.infer<typeof RunList>;
