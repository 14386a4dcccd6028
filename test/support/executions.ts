/** The executions of a run's workflow, and of its parts. */
import { WorkflowNotFoundError, type WorkflowHandle } from "@temporalio/client";
import { partIdOf, workflowIdOf } from "../../core/ids.ts";
import type { Product } from "./product.ts";

export interface Execution {
  readonly status: string;
  readonly events: number;
  /** Why workflow tasks failed. */
  readonly failedTasks: readonly string[];
  /** Activities scheduled and not ended, at the most, and all that there were. */
  readonly mostPending: number;
  readonly activities: number;
  /** Bytes of what it was started with. */
  readonly input: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly signals: number;
  /** Numbers of parts that its memo named before Temporal had them. */
  readonly namedTooEarly: readonly number[];
}

/** From the first to the last, as the server chains them. */
export async function executionsOf(product: Product, dagId: string, runId: string): Promise<Execution[]> {
  const workflowId = workflowIdOf(dagId, runId);
  const { workflow } = product.temporal;
  const found: Execution[] = [];
  let execution: string = (await workflow.getHandle(workflowId).describe()).runId;
  while (execution !== "") {
    const { before, ...one } = await executionOf(workflow.getHandle(workflowId, execution));
    found.unshift(one);
    execution = before;
  }
  return found;
}

/** The parts of a run, by their numbers, which are counted on from 1. */
export async function partsOf(product: Product, dagId: string, runId: string): Promise<Execution[]> {
  const found: Execution[] = [];
  for (;;) {
    const handle = product.temporal.workflow.getHandle(
      partIdOf(workflowIdOf(dagId, runId), found.length + 1),
    );
    try {
      await handle.describe();
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return found;
      throw error;
    }
    found.push(await executionOf(handle));
  }
}

async function executionOf(handle: WorkflowHandle): Promise<Execution & { readonly before: string }> {
  const { events } = await handle.fetchHistory();
  const { status, searchAttributes, memo } = await handle.describe();
  const failedTasks: string[] = [];
  let pending = 0;
  let mostPending = 0;
  let activities = 0;
  let signals = 0;
  const there = new Set<number>();
  const namedTooEarly: number[] = [];
  for (const event of events!) {
    if (event.activityTaskScheduledEventAttributes) {
      pending += 1;
      activities += 1;
    }
    if (
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes
    )
      pending -= 1;
    mostPending = Math.max(mostPending, pending);
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId;
    if (child) there.add(Number(/\.part-(\d+)$/.exec(child)![1]));
    const noted = event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields?.["parts"];
    if (noted) {
      const numbers = JSON.parse(Buffer.from(noted.data!).toString()) as number[];
      namedTooEarly.push(...numbers.filter((number) => !there.has(number)));
    }
    if (event.workflowExecutionSignaledEventAttributes) signals += 1;
    const failed = event.workflowTaskFailedEventAttributes;
    // Something came in as it was about to close: Temporal's own way of not losing it.
    if (failed && failed.failure?.message !== "UnhandledCommand")
      failedTasks.push(failed.failure?.message ?? String(failed.cause));
  }
  const started = events![0]!.workflowExecutionStartedEventAttributes!;
  return {
    status: status.name,
    events: events!.length,
    failedTasks,
    mostPending,
    activities,
    signals,
    namedTooEarly,
    input: (started.input?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0),
    attributes: searchAttributes,
    memo: memo ?? {},
    before: started.continuedExecutionRunId ?? "",
  };
}
