/** What requests about the emergency dial may hold. */
import { z } from "@hono/zod-openapi";
import { text, whole } from "./requests.ts";

const MOST_TRIES = 1_000_000;
/** What PostgreSQL's integer holds. */
const MOST_PRIORITY = 2_147_483_647;

const tries = z.int().min(0).max(MOST_TRIES);
const priority = z.int().min(-MOST_PRIORITY).max(MOST_PRIORITY);
const belowClass = z.enum(["standard", "critical"]);
const reason = text
  .refine((given) => given.trim() !== "", "expected why, in words that others see")
  .openapi({ description: "Why; everybody sees it" });

const NO_BOUND =
  "says no bound: expected at least one of tries, belowClass, belowPriority; DELETE lifts the dial";

export const DialBody = z
  .strictObject({
    tries: tries.nullable().optional(),
    belowClass: belowClass.nullable().optional(),
    belowPriority: priority.nullable().optional(),
    reason,
    preempt: z
      .boolean()
      .optional()
      .openapi({ description: "Tries under way that it would not let begin give their slots back" }),
  })
  .refine((body) => (body.tries ?? body.belowClass ?? body.belowPriority ?? null) !== null, NO_BOUND)
  .openapi("DialRequest");

export const DialOffBody = z.strictObject({ reason }).openapi("DialOffRequest");

export const DialQuery = z.strictObject({
  tries: whole(0, MOST_TRIES).optional(),
  belowClass: belowClass.optional(),
  belowPriority: whole(-MOST_PRIORITY, MOST_PRIORITY).optional(),
});
