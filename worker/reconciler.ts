import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import type pg from "pg";
import { workflowIdOf } from "../core/ids.ts";
import { inParallel } from "../core/in-parallel.ts";
import { endGoneRun, freeEndedTries, suspectRuns, type SuspectRun } from "../db/pools/reconcile.ts";
import type { Log } from "../platform/log.ts";
import { grantsSignal, type GrantMessage } from "../workflows/messages.ts";
import { endParts, lookAtParts } from "./parts.ts";

export interface ReconcilerDeps {
  readonly pool: pg.Pool;
  readonly temporal: Client;
  readonly log: Log;
  /** Leases younger than this are left alone. */
  readonly quietMs: number;
}

const RUNS_PER_PASS = 200;
const IN_PARALLEL = 10;
/** Leases named in one signal. */
const TOLD = 20;

export interface Mended {
  readonly leases: number;
  readonly runs: number;
}

/**
 * Compares the account book with Temporal: leases whose try has ended are freed, runs whose workflow is gone
 * (terminated in Temporal Web, say) are ended with their parts, and a run that has no such try, or has lost a part, is
 * told so. Each call looks at
 * the next runs, so that all have their turn. Answers what it mended, for the log.
 */
export function createReconciler(deps: ReconcilerDeps): () => Promise<Mended> {
  let after = 0;
  return async () => {
    const leases = await freeEndedTries(deps.pool, deps.quietMs);
    if (leases > 0) deps.log.warn(`freed ${leases} lease(s) of tries that had ended`);
    const suspects = await suspectRuns(deps.pool, deps.quietMs, RUNS_PER_PASS, after);
    after = suspects.length < RUNS_PER_PASS ? 0 : suspects.at(-1)!.run;
    let runs = 0;
    await inParallel(suspects, IN_PARALLEL, async (suspect) => {
      const reason = await goneReason(deps, suspect);
      if (reason === null || !(await endGoneRun(deps.pool, suspect.run, reason))) return;
      runs += 1;
      deps.log.warn({ dag: suspect.dag_id, run: suspect.run_id }, `run ended: ${reason}`);
    });
    return { leases, runs };
  };
}

/** Why the run's workflow is no more; null while it is there. */
async function goneReason({ temporal, log }: ReconcilerDeps, run: SuspectRun): Promise<string | null> {
  const handle = temporal.workflow.getHandle(workflowIdOf(run.dag_id, run.run_id));
  try {
    const { status, raw, memo } = await handle.describe();
    if (status.name === "RUNNING" || status.name === "CONTINUED_AS_NEW" || status.name === "PAUSED") {
      const pending = new Set(raw.pendingActivities?.map((activity) => activity.activityId));
      for (const id of await lookAtParts({ temporal, log }, handle.workflowId, memo)) pending.add(id);
      // A large run has its slots before it begins all of its tries: some are enough to say it.
      const idle = (run.granted ?? []).filter((id) => !pending.has(id.split("+")[0]!)).slice(0, TOLD);
      // The database lost the try's end, or the run its grant: it says which (`dagRun`).
      if (idle.length > 0) {
        log.info(
          { dag: run.dag_id, run: run.run_id },
          `slots without a try: ${idle.join(", ")}; the run is told`,
        );
        await handle.signal(grantsSignal, idle.map(grantOf));
      }
      return null;
    }
    await endParts(temporal, handle.workflowId, memo);
    // It closed in order and its last write is on the way, or lost with the database: its end is what it says.
    return `its workflow is ${status.name.toLowerCase()} in Temporal`;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return "its workflow is gone from Temporal";
    throw error;
  }
}

/** From an activity id, `task.try` or `task[index].try`; `+n` behind it: it goes on behind its wait n. */
function grantOf(id: string): GrantMessage {
  const [, taskId, index, number, wait] = /^(.*?)(?:\[(\d+)\])?\.(\d+)(?:\+(\d+))?$/.exec(id)!;
  return {
    taskId: taskId!,
    mapIndex: index === undefined ? -1 : Number(index),
    try: Number(number),
    ...(wait !== undefined && { wait: Number(wait) }),
  };
}
