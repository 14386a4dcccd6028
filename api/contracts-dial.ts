/** The emergency dial: what is asked of it, and what is answered. */
import { z } from "@hono/zod-openapi";
import { instant } from "./contracts-graph.ts";

const bounds = {
  tries: z.int().nullable().openapi({ description: "So many tries at once over all pools; null: any" }),
  belowClass: z.enum(["standard", "critical"]).nullable().openapi({
    description: "What is of a lower priority class waits; null: none does",
  }),
  belowPriority: z.int().nullable().openapi({ description: "What asks with less waits; null: none does" }),
};

const DialTurn = z
  .object({ id: z.int(), at: instant, who: z.string(), reason: z.string(), ...bounds })
  .openapi("DialTurn");
export type DialTurn = z.infer<typeof DialTurn>;

const DialInForce = DialTurn.extend({
  running: z.int().openapi({ description: "Tries that hold slots" }),
  held: z.int().openapi({ description: "Tries that wait and that it keeps from beginning" }),
}).openapi("DialInForce");
export type DialInForce = z.infer<typeof DialInForce>;

export const DialState = z
  .object({
    inForce: DialInForce.nullable().openapi({ description: "null: it bounds nothing" }),
    turns: z.array(DialTurn).openapi({ description: "The newest first, at most 20; without bounds: off" }),
  })
  .openapi("Dial");
export type DialState = z.infer<typeof DialState>;

export const DialTurned = DialState.extend({
  preempted: z.int().openapi({ description: "Tries that were asked to give their slots back" }),
}).openapi("DialTurned");
export type DialTurned = z.infer<typeof DialTurned>;

export const DialPreview = z
  .object({
    running: z.int().openapi({ description: "Tries that hold slots" }),
    wouldHold: z.int().openapi({ description: "Of the tries that wait now" }),
    wouldGiveBack: z.int().openapi({ description: "Of the tries under way, if it preempts" }),
  })
  .openapi("DialPreview");
export type DialPreview = z.infer<typeof DialPreview>;
