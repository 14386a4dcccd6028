/** What is asked of runs, and what is answered. */
import { z } from "@hono/zod-openapi";
import { ID_RULE, isId } from "../core/ids.ts";
import { TASK_STATES } from "../core/states.ts";

const id = z.string().refine(isId, { error: `expected ${ID_RULE}` });
const reason = z.string().max(500);

/** Which cells of a run are meant. */
const selection = {
  tasks: z
    .array(z.strictObject({ taskId: id, mapIndex: z.int().min(0).max(1_000_000).optional() }))
    .max(5_000)
    .optional()
    .openapi({ description: "With groups left out too: the whole run" }),
  groups: z.array(id).max(1_000).optional().openapi({ description: "All tasks of these groups" }),
  upstream: z.boolean().optional().openapi({ description: "What they wait for, too" }),
  downstream: z.boolean().optional().openapi({ description: "What waits for them, too" }),
  onlyFailed: z
    .boolean()
    .optional()
    .openapi({ description: "Of all that, only what failed or could not run" }),
  dryRun: z.boolean().optional().openapi({ description: "Only say what it would be" }),
};

const cleared = {
  ...selection,
  version: z.enum(["original", "latest"]).optional().openapi({
    description:
      "Whether the run keeps its version, which is the default, or goes on with the one that is in force. Only a run that is over can change it",
  }),
};

export const ClearBody = z.strictObject(cleared).openapi("ClearRequest");
const instant = z.iso.datetime({
  offset: true,
  error: "expected an ISO 8601 instant with its offset, like 2026-05-09T00:00:00Z",
});
export const ClearRunsBody = z
  .strictObject({
    from: instant.openapi({ description: "Logical dates from here on" }),
    until: instant.openapi({ description: "Logical dates before this" }),
    ...cleared,
  })
  .openapi("ClearRunsRequest");
export const MarkBody = z
  .strictObject({ as: z.enum(["success", "failed", "skipped"]), ...selection })
  .openapi("MarkRequest");
export const EndBody = z
  .strictObject({ as: z.enum(["cancelled", "failed"]), reason: reason.optional() })
  .openapi("EndRequest");

export const PriorityBody = z
  .strictObject({
    priority: z.int().min(-1_000_000).max(1_000_000).openapi({
      description: "Added to what its place and its tries ask with; 0: nothing, as it was made",
    }),
  })
  .openapi("RunPriorityRequest");
export const RunPriority = z
  .object({
    dagId: z.string(),
    runId: z.string(),
    priority: z.int(),
    moved: z.int().openapi({ description: "Requests that wait and have moved" }),
  })
  .openapi("RunPriority");
export type RunPriority = z.infer<typeof RunPriority>;

export const RunsCleared = z
  .object({
    dagId: z.string(),
    dryRun: z.boolean(),
    runs: z
      .array(
        z.object({
          runId: z.string(),
          changed: z.int(),
          refused: z.object({ code: z.string(), message: z.string() }).nullable(),
        }),
      )
      .openapi({ description: "Oldest first, which is the order in which they go on" }),
  })
  .openapi("RunsCleared");
export type RunsCleared = z.infer<typeof RunsCleared>;

export const CommandDone = z
  .object({
    dagId: z.string(),
    runId: z.string(),
    dryRun: z.boolean(),
    changed: z.int().openapi({ description: "How many cells it changes" }),
    removed: z.int().openapi({ description: "How many cells the version it goes on with does not have" }),
    cells: z
      .array(
        z.object({
          taskId: z.string(),
          mapIndex: z.int(),
          state: z.enum(TASK_STATES),
          try: z.int(),
          change: z.enum(["new", "anew", "removed"]).nullable().openapi({
            description: "By another version: its task is new, is another now and begins anew, or is no more",
          }),
        }),
      )
      .openapi({ description: "As they were before; only of a dry run" }),
  })
  .openapi("CommandDone");
export type CommandDone = z.infer<typeof CommandDone>;
