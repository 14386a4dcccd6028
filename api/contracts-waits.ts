/** Waits as they leave the API, and what is asked of them. */
import { z } from "@hono/zod-openapi";
import { WAIT_KINDS } from "../core/why-deferred.ts";
import { optionalInstant } from "./contracts-graph.ts";

/** A task that waits without a slot, or has waited. */
export const Wait = z
  .object({
    key: z.string().openapi({ description: "Pages: pass the last one as `after`" }),
    dagId: z.string(),
    runId: z.string(),
    taskId: z.string(),
    mapIndex: z.int().openapi({ description: "-1: not mapped" }),
    try: z.int(),
    wait: z.int().openapi({ description: "Number of the wait within its try, from 1" }),
    kind: z.enum(WAIT_KINDS).openapi({
      description: "Its check must say yes, somebody ends it, a time comes, or another run ends",
    }),
    state: z.enum(["open", "ended"]),
    reason: z.string().nullable().openapi({ description: "What it waits for, in words; null: it has ended" }),
    since: optionalInstant.openapi({ description: "null: it was ended ahead of its beginning" }),
    until: optionalInstant.openapi({ description: "Its time-out, or its try's, whichever comes first" }),
    dueAt: optionalInstant.openapi({ description: "The time that is waited for" }),
    other: z
      .object({ dagId: z.string(), runId: z.string(), taskId: z.string().nullable() })
      .nullable()
      .openapi({ description: "The other run that is waited for, or the task in it" }),
    everyMs: z.number().nullable().openapi({ description: "Between two checks" }),
    checks: z.int(),
    lastCheckAt: optionalInstant,
    nextCheckAt: optionalInstant,
    endedAs: z
      .enum(["success", "expired", "timed_out", "skipped", "failed", "cancelled"])
      .nullable()
      .openapi({ description: "`expired`: its own time-out; `timed_out`: its try's" }),
    endedBy: z.string().nullable().openapi({ description: "Who ended it from outside" }),
    endedAt: optionalInstant,
    url: z.string().nullable().openapi({
      description: "Of an open wait for somebody, beside its run or try: whoever posts to it ends the wait",
    }),
  })
  .openapi("Wait");
export type Wait = z.infer<typeof Wait>;

/** A wait of a try that is named around it. */
export const TryWait = Wait.omit({
  key: true,
  dagId: true,
  runId: true,
  taskId: true,
  mapIndex: true,
  try: true,
}).openapi("TryWait");
export type TryWait = z.infer<typeof TryWait>;

/** A page of waits. `after` asks for the next page; null: no more. */
export const WaitList = z.object({ waits: z.array(Wait), after: z.string().nullable() }).openapi("WaitList");
export type WaitList = z.infer<typeof WaitList>;

const which = {
  dagId: z.string(),
  runId: z.string(),
  taskId: z.string(),
  mapIndex: z.int(),
  try: z.int(),
  wait: z.int(),
};

export const WaitEnded = z.object({ answer: z.literal("ended"), ...which }).openapi("WaitEnded");
export type WaitEnded = z.infer<typeof WaitEnded>;

/** Its next check is due now; a worker makes it within a second. */
export const WaitPoked = z.object({ answer: z.literal("due"), ...which }).openapi("WaitPoked");
export type WaitPoked = z.infer<typeof WaitPoked>;
