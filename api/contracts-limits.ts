/** The limits file: what is asked, and what is answered. */
import { z } from "@hono/zod-openapi";
import { PRIORITY_CLASSES } from "../core/limits-file.ts";

const slots = z.int().min(0);

const LimitsFile = z
  .object({
    pools: z.record(
      z.string(),
      z.object({
        slots,
        description: z.string().optional(),
        scheduledFloor: slots.optional().openapi({ description: "Slots that runs by hand cannot take" }),
      }),
    ),
    cohorts: z
      .record(z.string(), z.object({ slots }))
      .openapi({ description: "Capacity that its tenants share and lend each other" }),
    tenants: z.record(
      z.string(),
      z.object({
        slots,
        cohort: z.string().optional(),
        most: slots.optional().openapi({ description: "Slots with what it borrows" }),
        coreHoursPerDay: z.number().optional(),
      }),
    ),
    rules: z
      .array(
        z.object({
          dags: z.string().optional(),
          owner: z.string().optional(),
          tag: z.string().optional(),
          caller: z.string().optional(),
          tenant: z.string().optional(),
          class: z.enum(PRIORITY_CLASSES).optional(),
        }),
      )
      .readonly()
      .openapi({ description: "The first that fits a DAG, or its run by hand with its caller, counts" }),
    adhoc: z.object({ maxCores: z.number().optional() }),
    queues: z.record(
      z.string(),
      z.object({
        tenants: z.array(z.string()).readonly(),
        otherwise: z.union([z.literal("refuse"), z.object({ redirect: z.string() })]),
      }),
    ),
    rates: z
      .array(
        z.object({
          per: z.enum(["dag", "tenant", "caller"]),
          match: z.string().optional(),
          triggers: z.int(),
          withinMs: z.int(),
        }),
      )
      .readonly(),
    queued: z.object({
      mostRuns: z.int().optional(),
      mostRunsPerTenant: z.int().optional(),
      timeoutMs: z.int().optional(),
    }),
  })
  .openapi("LimitsFile");

const id = z.int().nullable().openapi({ description: "Of the limits in force; null: none were applied yet" });

export const Limits = z
  .object({
    id,
    at: z.iso.datetime().nullable(),
    who: z.string().nullable(),
    file: LimitsFile.nullable(),
  })
  .openapi("Limits");
export type Limits = z.infer<typeof Limits>;

const LimitsChange = z
  .object({
    what: z.enum(["pool", "cohort", "tenant", "rule", "adhoc", "queue", "rate", "queued", "dag"]),
    name: z.string(),
    before: z.string().nullable().openapi({ description: "In words; null: it was not there" }),
    after: z.string().nullable().openapi({ description: "In words; null: it goes" }),
  })
  .openapi("LimitsChange");
export type LimitsChange = z.infer<typeof LimitsChange>;

const changes = {
  changes: z.array(LimitsChange).openapi({ description: "Of DAGs the first 100 by their ids" }),
  dags: z.int().openapi({ description: "How many DAGs get another tenant or class" }),
  runs: z.int().openapi({ description: "How many queued and running runs do" }),
};

export const LimitsPlan = z
  .object({
    current: id,
    changed: z.boolean().openapi({ description: "Whether applying it would write anything" }),
    ...changes,
  })
  .openapi("LimitsPlan");
export type LimitsPlan = z.infer<typeof LimitsPlan>;

export const LimitsApplied = z
  .object({
    id,
    changed: z.boolean().openapi({ description: "false: it was in force as it is, and nothing was written" }),
    ...changes,
  })
  .openapi("LimitsApplied");
export type LimitsApplied = z.infer<typeof LimitsApplied>;

const text = z.string().max(250_000).openapi({ description: "The limits file, as YAML or JSON" });

export const LimitsPlanBody = z.strictObject({ text }).openapi("LimitsPlanRequest");
export const LimitsBody = z
  .strictObject({
    text,
    ifCurrent: id
      .optional()
      .openapi({ description: "Only if this is in force, as the plan said; null: if none is" }),
  })
  .openapi("LimitsRequest");
