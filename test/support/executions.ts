/** The executions of a run's workflow, and of its parts. */
import type { WorkflowHandle } from "@temporalio/client";
import { workflowIdOf } from "../../core/ids.ts";
import type { Product } from "./product.ts";

export interface Execution {
  readonly workflowId: string;
  readonly events: number;
  /** Why workflow tasks failed. */
  readonly failedTasks: readonly string[];
  /** Activities scheduled and not ended, at the most. */
  readonly mostPending: number;
  /** Bytes of what it was started with. */
  readonly input: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** From the first to the last, as the server chains them. */
export async function executionsOf(product: Product, dagId: string, runId: string): Promise<Execution[]> {
  const workflowId = workflowIdOf(dagId, runId);
  const found: Execution[] = [];
  let execution: string = (await product.temporal.workflow.getHandle(workflowId).describe()).runId;
  while (execution !== "") {
    const handle: WorkflowHandle = product.temporal.workflow.getHandle(workflowId, execution);
    const { events } = await handle.fetchHistory();
    const described = await handle.describe();
    let pending = 0;
    let mostPending = 0;
    const failedTasks: string[] = [];
    for (const event of events!) {
      if (event.activityTaskScheduledEventAttributes) pending += 1;
      if (
        event.activityTaskCompletedEventAttributes ??
        event.activityTaskFailedEventAttributes ??
        event.activityTaskTimedOutEventAttributes ??
        event.activityTaskCanceledEventAttributes
      )
        pending -= 1;
      mostPending = Math.max(mostPending, pending);
      const failed = event.workflowTaskFailedEventAttributes;
      if (failed) failedTasks.push(failed.failure?.message ?? String(failed.cause));
    }
    const started = events![0]!.workflowExecutionStartedEventAttributes!;
    found.unshift({
      workflowId,
      events: events!.length,
      failedTasks,
      mostPending,
      input: (started.input?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0),
      attributes: described.searchAttributes,
    });
    execution = started.continuedExecutionRunId ?? "";
  }
  return found;
}
