import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import type pg from "pg";
import { workflowIdOf } from "../core/ids.ts";
import { inParallel } from "../core/in-parallel.ts";
import { endGoneRun, freeEndedTries, suspectRuns, type SuspectRun } from "../db/pools/reconcile.ts";
import type { Log } from "../platform/log.ts";

export interface ReconcilerDeps {
  readonly pool: pg.Pool;
  readonly temporal: Client;
  readonly log: Log;
  /** Leases younger than this are left alone. */
  readonly quietMs: number;
}

const RUNS_PER_PASS = 200;
const IN_PARALLEL = 10;

/**
 * Compares the account book with Temporal: leases whose try has ended are freed, and runs whose workflow is gone
 * (terminated in Temporal Web, say) are ended. Returns what it mended, for the log.
 */
export async function reconcile(deps: ReconcilerDeps): Promise<{ leases: number; runs: number }> {
  const leases = await freeEndedTries(deps.pool, deps.quietMs);
  const suspects = await suspectRuns(deps.pool, deps.quietMs, RUNS_PER_PASS);
  let runs = 0;
  await inParallel(suspects, IN_PARALLEL, async (suspect) => {
    const reason = await goneReason(deps.temporal, suspect);
    if (reason === null || !(await endGoneRun(deps.pool, suspect.run, reason))) return;
    runs += 1;
    deps.log.warn({ dag: suspect.dag_id, run: suspect.run_id }, `run ended: ${reason}`);
  });
  if (leases > 0) deps.log.warn(`freed ${leases} lease(s) of tries that had ended`);
  return { leases, runs };
}

/** Why the run's workflow is no more; null while it is there. */
async function goneReason(temporal: Client, run: SuspectRun): Promise<string | null> {
  try {
    const description = await temporal.workflow.getHandle(workflowIdOf(run.dag_id, run.run_id)).describe();
    const status = description.status.name;
    if (status === "RUNNING" || status === "CONTINUED_AS_NEW" || status === "PAUSED") return null;
    // It closed in order and its last write is on the way, or lost with the database: its end is what it says.
    return `its workflow is ${status.toLowerCase()} in Temporal`;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return "its workflow is gone from Temporal";
    throw error;
  }
}
