/** Runs that wait for their places for too long, and triggers that no rate counts any more. */
import { spanInWords } from "../core/span-words.ts";
import { recordRow } from "../activities/rows.ts";
import { pack } from "../core/packed.ts";
import { endedUnbegun } from "../core/unbegun.ts";
import type { Pool } from "../db/connection.ts";
import type { CloseRun } from "../db/runs.ts";
import { failLateRuns, forgetTriggers, type LateRun } from "../db/triggers.ts";
import type { LoadedVersion, Versions } from "../db/versions.ts";

/** Each holds its run's lease until all have ended, and may have thousands of tasks to write down. */
const AT_ONCE = 20;
const FORGET_MS = 60_000;

/** One look, which any number of workers may take at once. */
export function createQueueWatch(pool: Pool, versions: Versions): () => Promise<void> {
  let forgotAt = -Infinity;
  return async () => {
    const file = (await versions.limits.current())?.file;
    const timeoutMs = file?.queued.timeoutMs;
    if (timeoutMs !== undefined) {
      while ((await failLate(pool, versions, timeoutMs)).length === AT_ONCE);
    }
    const now = performance.now();
    if (now - forgotAt < FORGET_MS) return;
    await forgetTriggers(pool, Math.max(0, ...(file?.rates ?? []).map(({ withinMs }) => withinMs)));
    forgotAt = now;
  };
}

/** They fail as if somebody had ended them before they began, so that they may be cleared. */
export const failLate = async (
  pool: Pool,
  versions: Versions,
  timeoutMs: number,
): Promise<readonly LateRun[]> =>
  await failLateRuns(pool, timeoutMs, AT_ONCE, async (runs, client) => {
    const loaded = await versions.loadAll(new Set(runs.map(({ version }) => version)), client);
    return runs.map((run) => endOf(run, loaded.get(run.version)!, lateReason(run, timeoutMs)));
  });

function endOf({ run }: LateRun, { plan }: LoadedVersion, reason: string): CloseRun {
  const { progress, records } = endedUnbegun(plan, { as: "failed", reason });
  const rows = records.map(({ seq, task, index, try: number, state, ended }) =>
    recordRow(run, { seq, taskId: plan.tasks[task]!.id, mapIndex: index, try: number, state, ended }),
  );
  return { run, records: rows, state: "failed", reason, progress: pack(progress) };
}

const lateReason = ({ waited_ms, places, taken }: LateRun, timeoutMs: number): string =>
  `it waited ${spanInWords(waited_ms)} for a place among the active runs of its dag (${taken} of ${places} taken), ` +
  `longer than the ${spanInWords(timeoutMs)} that the limits file allows`;
