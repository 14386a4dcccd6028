/** Tenants: what is their own, what they use, who lends to whom. */
import { z } from "@hono/zod-openapi";
import { optionalInstant } from "./contracts-graph.ts";

const Loan = z
  .object({
    from: z.string().nullable().openapi({ description: "null: slots of the cohort that are nobody's own" }),
    to: z.string(),
    cohort: z.string(),
    slots: z.int(),
  })
  .openapi("Loan");
export type Loan = z.infer<typeof Loan>;

const Tenant = z
  .object({
    name: z.string(),
    cohort: z.string().nullable().openapi({ description: "null: nobody lends to it" }),
    slots: z.int().openapi({ description: "Its own" }),
    most: z.int().nullable().openapi({ description: "With what it borrows; null: all that is lent" }),
    used: z.int(),
    borrowed: z.int().openapi({ description: "What it uses beyond its own" }),
    lent: z.int().openapi({ description: "What others use of its own" }),
    waiting: z.int().openapi({ description: "Requests that wait" }),
    waitingSlots: z.int(),
    preempted: z
      .int()
      .openapi({ description: "Tries that were asked to give their slots back and hold them still" }),
    recentUse: z
      .number()
      .openapi({ description: "Slots in use on an average of late, by half less each hour" }),
    share: z.number().nullable().openapi({
      description: "Use, now and of late, to its own slots: the smaller goes first. null: it has none",
    }),
    coreHoursToday: z.number().openapi({ description: "Since 00:00 UTC" }),
    coreHoursQuota: z.number().nullable().openapi({ description: "A day; null: any" }),
    exhaustedUntil: optionalInstant.openapi({ description: "Its quota is used up until then" }),
  })
  .openapi("Tenant");
export type Tenant = z.infer<typeof Tenant>;

export const TenantList = z
  .object({
    tenants: z.array(Tenant).openapi({ description: "By name; none where no limits are applied" }),
    loans: z.array(Loan).openapi({ description: "Who lends to whom now" }),
  })
  .openapi("TenantList");
export type TenantList = z.infer<typeof TenantList>;
