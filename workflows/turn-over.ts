import { workflowInfo } from "@temporalio/workflow";
import type { RunInfo } from "../activities/types.ts";

/** A fifth of what Temporal takes. What is in flight when a run begins to turn over still comes on top. */
const BYTES = 10_000_000;

/**
 * Whether the history of this execution has become so long that the run is to go on in a new one. Known to a replay: both
 * figures are those of the workflow task. Temporal's own suggestion comes at 4,096 events, which is early for a run.
 */
export function isTurnOverDue({ turnOverEvents }: RunInfo): boolean {
  if (turnOverEvents === undefined) return false;
  const { historyLength, historySize } = workflowInfo();
  return historyLength >= turnOverEvents || historySize >= BYTES;
}
