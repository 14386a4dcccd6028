import { WorkflowExecutionAlreadyStartedError, type Client } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { workflowIdOf } from "../core/ids.ts";
import { SEARCH_ATTRIBUTES } from "../platform/search-attributes.ts";
import type { DagRunInput } from "../workflows/messages.ts";

export interface RunToStart extends DagRunInput {
  readonly runType: string;
  readonly logicalAt: number;
}

/**
 * Starts the run's workflow; already started is fine (the ledger and the workflow id hold it to one). Eager when the
 * client shares its connection with a worker of this process.
 */
export async function startRun(
  temporal: Client,
  taskQueue: string,
  run: RunToStart,
  eager: boolean,
): Promise<void> {
  const input: DagRunInput = { dagId: run.dagId, runId: run.runId, run: run.run };
  try {
    await temporal.workflow.start("dagRun", {
      taskQueue,
      workflowId: workflowIdOf(run.dagId, run.runId),
      args: [input],
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      requestEagerStart: eager,
      staticSummary: `${run.dagId} ${run.runId}`,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: SEARCH_ATTRIBUTES.dag, value: run.dagId },
        { key: SEARCH_ATTRIBUTES.logicalDate, value: new Date(run.logicalAt) },
        { key: SEARCH_ATTRIBUTES.runType, value: run.runType },
      ]),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
