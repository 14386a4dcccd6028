/** Pools: their slots, their queues, and how both were of late. */
import { z } from "@hono/zod-openapi";
import { CLASS_NAMES } from "../core/limits.ts";
import { instant } from "./contracts-graph.ts";

/** A request that can never be granted as things are: it needs more than its pool has. */
const ImpossibleRequest = z
  .object({
    dagId: z.string(),
    runId: z.string(),
    taskId: z.string(),
    mapIndex: z.int(),
    needs: z.int(),
    reason: z.string(),
  })
  .openapi("ImpossibleRequest");
export type ImpossibleRequest = z.infer<typeof ImpossibleRequest>;

const PoolClass = z
  .object({
    class: z.enum(CLASS_NAMES),
    used: z.int().openapi({ description: "Slots in use" }),
    waiting: z.int().openapi({ description: "Requests that wait" }),
    arrivalsPerMinute: z.number(),
    grantsPerMinute: z.number(),
  })
  .openapi("PoolClass");

export const Pool = z
  .object({
    name: z.string(),
    exists: z.boolean().openapi({ description: "false: tasks name it, and nobody has made it" }),
    description: z.string(),
    slots: z.int(),
    used: z.int().openapi({ description: "Slots in use" }),
    free: z.int().openapi({ description: "Never below 0, even when a pool shrank under its work" }),
    waiting: z.int().openapi({ description: "Requests that wait" }),
    waitingSlots: z.int(),
    longestWaitMs: z.number().nullable().openapi({ description: "Of what waits now; null: nothing does" }),
    p95WaitMs: z.number().nullable().openapi({ description: "19 of 20 that wait have waited no longer" }),
    arrivalsPerMinute: z.number().openapi({ description: "Requests, over the last 10 minutes" }),
    grantsPerMinute: z
      .number()
      .openapi({ description: "Over the last 10 minutes; below arrivals the queue grows" }),
    classes: z.array(PoolClass).openapi({ description: "The highest first; those with work of late" }),
    scheduledFloor: z
      .int()
      .openapi({ description: "Slots that runs by hand cannot take; 0: they may take all" }),
    preempted: z
      .int()
      .openapi({ description: "Tries that were asked to give their slots back and hold them still" }),
    impossible: z.array(ImpossibleRequest).openapi({ description: "At most 20" }),
  })
  .openapi("Pool");
export type Pool = z.infer<typeof Pool>;

export const PoolList = z.object({ pools: z.array(Pool) }).openapi("PoolList");
export type PoolList = z.infer<typeof PoolList>;

/** A try that holds slots of a pool, or waits for them. */
const PoolWorkItem = z
  .object({
    dagId: z.string(),
    runId: z.string(),
    taskId: z.string(),
    mapIndex: z.int().openapi({ description: "-1: not mapped" }),
    try: z.int(),
    slots: z.int(),
    priority: z.int(),
    since: instant,
    reason: z
      .string()
      .nullable()
      .openapi({ description: "Why it waits, or holds its slots and does not begin" }),
  })
  .openapi("PoolWorkItem");
export type PoolWorkItem = z.infer<typeof PoolWorkItem>;

export const PoolWork = z
  .object({
    holding: z.array(PoolWorkItem).openapi({ description: "Oldest first, at most 50" }),
    waiting: z.array(PoolWorkItem).openapi({ description: "Whose turn is next first, at most 50" }),
  })
  .openapi("PoolWork");
export type PoolWork = z.infer<typeof PoolWork>;

const PoolSample = z
  .object({
    at: instant,
    slots: z.int(),
    used: z.int(),
    waiting: z.int(),
    longestWaitMs: z.number().nullable(),
    p95WaitMs: z.number().nullable(),
  })
  .openapi("PoolSample");

export const PoolHistory = z
  .object({
    name: z.string(),
    samples: z.array(PoolSample).openapi({
      description:
        "Oldest first: each 10 s of at most 120 minutes, each minute of more; a pool without work has none",
    }),
    minutes: z.array(z.object({ at: instant, arrivals: z.int(), grants: z.int() })).openapi({
      description: "Oldest first; minutes in which nothing came and nothing was granted are left out",
    }),
  })
  .openapi("PoolHistory");
export type PoolHistory = z.infer<typeof PoolHistory>;
