/** Tells runs that waits of theirs have ended: the outbox of `app.wait`. */
import { WorkflowNotFoundError, type Client } from "@temporalio/client";
import { workflowIdOf } from "../core/ids.ts";
import { groupBy } from "../core/group-by.ts";
import { inParallel } from "../core/in-parallel.ts";
import { LATE, type WaitEnd } from "../core/waits.ts";
import type { Db } from "../db/connection.ts";
import { takeUntoldWaits, waitsKnown, waitsTold, type UntoldWait } from "../db/waits.ts";
import { wokenSignal, type WokenMessage } from "../workflows/messages.ts";
import { countWithin } from "../workflows/pieces.ts";

export interface WakerDeps {
  readonly pool: Db;
  readonly temporal: Client;
  readonly onError: (error: Error) => void;
}

/** Taken in one go; who takes them and dies leaves them to others after the hold. */
const BATCH = 1_000;
const HOLD_MS = 5_000;
/** A run that has taken the signal says so with its next decision; else it is told once more. */
const AGAIN_MS = 60_000;
const IN_PARALLEL = 50;

/** One signal per run, or as many as its size wants. Any process may do it; twice is harmless. */
export async function tellWaits(deps: WakerDeps): Promise<void> {
  for (;;) {
    const untold = await takeUntoldWaits(deps.pool, BATCH, HOLD_MS);
    const byRun = groupBy(untold, ({ run }) => run);
    await inParallel(byRun.values(), IN_PARALLEL, async (group) => {
      try {
        await tellRun(deps, group);
      } catch (error) {
        deps.onError(error as Error);
      }
    });
    if (untold.length < BATCH) return;
  }
}

async function tellRun({ pool, temporal }: WakerDeps, group: readonly UntoldWait[]): Promise<void> {
  const messages = group.flatMap((row): WokenMessage[] => {
    const end = endOf(row);
    if (end === null) return [];
    return [{ taskId: row.task_id, mapIndex: row.map_index, try: row.try, wait: row.wait, end }];
  });
  const { dag_id: dagId, run_id: runId } = group[0]!;
  const run = temporal.workflow.getHandle(workflowIdOf(dagId, runId));
  try {
    // Errors have their stacks with them.
    for (let left = messages; left.length > 0;) {
      const count = countWithin(left, (message) => Buffer.byteLength(JSON.stringify(message)));
      await run.signal(wokenSignal, left.slice(0, count));
      left = left.slice(count);
    }
    await waitsTold(pool, group, AGAIN_MS);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    await waitsKnown(pool, group);
  }
}

const TRY_LATE = "did not end within its execution time-out, its wait included";

/** Null: nobody waits for it. */
function endOf({ ended_as: as, resumes, detail }: UntoldWait): WaitEnd | null {
  switch (as) {
    case "success":
      if (resumes) return { kind: "resume" };
      return { kind: "success", ...(detail?.measured !== undefined && { measured: detail.measured }) };
    case "expired":
      return { kind: "expired", message: LATE };
    case "timed_out":
      return { kind: "timed_out", message: TRY_LATE };
    case "skipped":
      return { kind: "skipped", message: detail?.message ?? "" };
    case "failed":
      return {
        kind: "failed",
        error: detail?.error ?? { code: "wait_failed", message: "its wait failed", retryable: true },
      };
    case "cancelled":
      return null;
  }
}
