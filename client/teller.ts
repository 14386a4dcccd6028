import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import { workflowIdOf } from "../core/ids.ts";
import { groupBy } from "../core/group-by.ts";
import { inParallel } from "../core/in-parallel.ts";
import type { Pool } from "../db/connection.ts";
import type { GrantRow } from "../db/pools/advance.ts";
import { markTold, takeUntold, type UntoldGrant } from "../db/pools/outbox.ts";
import { grantsSignal, type GrantMessage } from "../workflows/messages.ts";
import type { RunStarter } from "./starter.ts";

export interface TellerDeps {
  readonly pool: Pool;
  readonly temporal: Client;
  readonly starter: RunStarter;
  readonly onError: (error: Error) => void;
}

/** Grants taken in one go; who takes them and dies leaves them to others after the hold. */
const BATCH = 500;
const HOLD_MS = 5_000;
const IN_PARALLEL = 50;

/**
 * Tells runs of grants they do not know yet (the outbox of the account book): one signal per run, or the start of
 * the run's workflow. Any process may do it; twice is harmless. Returns how many were told.
 */
export async function tellGrants(deps: TellerDeps): Promise<number> {
  const untold = await takeUntold(deps.pool, BATCH, HOLD_MS);
  const byRun = groupBy(untold, ({ run }) => run);
  const told: UntoldGrant[] = [];
  await inParallel(byRun.values(), IN_PARALLEL, async (group) => {
    try {
      if (await tellRun(deps, group)) told.push(...group);
    } catch (error) {
      deps.onError(error as Error);
    }
  });
  if (told.length > 0) await markTold(deps.pool, told);
  return told.length;
}

/** As a run knows it. */
export const grantOf = ({ task_id, map_index, try: number, wait }: GrantRow): GrantMessage => ({
  taskId: task_id,
  mapIndex: map_index,
  try: number,
  ...(wait > 0 && { wait }),
});

/** False: Temporal does not have the run. Over, its leases went with its end; not started yet, it is told after the hold. */
async function tellRun(deps: TellerDeps, group: readonly UntoldGrant[]): Promise<boolean> {
  const { dag_id: dagId, run_id: runId, run, run_type: runType, logical_at, standing } = group[0]!;
  const toStart = { dagId, runId, run, runType, logicalAt: logical_at.getTime(), standing };
  const isReopened = group[0]!.is_reopened;
  if (!isReopened && group.some((grant) => grant.task_id === "")) await deps.starter.start(toStart);
  // One that goes on after its end waits in its workflow for its place.
  const grants = group.filter((grant) => grant.task_id !== "" || isReopened).map(grantOf);
  if (grants.length === 0) return true;
  try {
    await deps.temporal.workflow.getHandle(workflowIdOf(dagId, runId)).signal(grantsSignal, grants);
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    if (!isReopened || !group.some((grant) => grant.task_id === "")) return false;
    // Terminated while it waited.
    await deps.starter.startAgain(toStart);
    return true;
  }
}
