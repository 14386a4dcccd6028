import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import { partIdOf } from "../core/ids.ts";
import type { Log } from "../platform/log.ts";
import { partSignal } from "../workflows/messages.ts";

export interface PartsDeps {
  readonly temporal: Client;
  readonly log: Log;
}

type Memo = Readonly<Record<string, unknown>> | undefined;

/** Numbers of the parts that a run has, or had a moment ago: it says so in its memo (`workflows/parts.ts`). */
const partsIn = (memo: Memo): readonly number[] => (memo?.["parts"] ?? []) as readonly number[];

/**
 * Activity ids of the tries that the parts of a run have under way. A part that has ended otherwise than by itself
 * (terminated in Temporal Web, say) the run is told of: one that has turned over since it began does not hear of it by itself.
 */
export async function lookAtParts(
  { temporal, log }: PartsDeps,
  workflowId: string,
  memo: Memo,
): Promise<string[]> {
  const pending: string[] = [];
  for (const part of partsIn(memo)) {
    const { status, ids } = await look(temporal, partIdOf(workflowId, part));
    pending.push(...ids);
    // Completed, it has told all it had.
    if (status === "RUNNING" || status === "PAUSED" || status === "COMPLETED") continue;
    const gone = `it is ${status.toLowerCase()} in Temporal`;
    log.warn({ workflow: workflowId }, `part ${part} of a run: ${gone}; the run is told`);
    await temporal.workflow.getHandle(workflowId).signal(partSignal, { part, ends: [], gone });
  }
  return pending;
}

async function look(temporal: Client, id: string): Promise<{ status: string; ids: readonly string[] }> {
  try {
    const { status, raw } = await temporal.workflow.getHandle(id).describe();
    return { status: status.name, ids: (raw.pendingActivities ?? []).map(({ activityId }) => activityId!) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { status: "GONE", ids: [] };
    throw error;
  }
}

/** A run that is gone takes its parts with it: nobody would hear of their tries, whose slots others get. */
export async function endParts(temporal: Client, workflowId: string, memo: Memo): Promise<void> {
  for (const part of partsIn(memo)) {
    try {
      await temporal.workflow.getHandle(partIdOf(workflowId, part)).terminate("its run is gone");
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}
