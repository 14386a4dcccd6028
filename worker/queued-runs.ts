/** Runs that wait for their places for too long, and triggers that no rate counts any more. */
import { spanInWords } from "../core/span-words.ts";
import type { Pool } from "../db/connection.ts";
import type { LimitsReader } from "../db/limits-in-force.ts";
import { failLateRuns, forgetTriggers, type LateRun } from "../db/triggers.ts";

/** Each holds its run's lease until all have ended. */
const AT_ONCE = 100;
const FORGET_MS = 60_000;

/** One look, which any number of workers may take at once. */
export function createQueueWatch(pool: Pool, limits: LimitsReader): () => Promise<void> {
  let forgotAt = -Infinity;
  return async () => {
    const file = (await limits.current())?.file;
    const timeoutMs = file?.queued.timeoutMs;
    if (timeoutMs !== undefined) {
      const reasonOf = (run: LateRun): string => lateReason(run, timeoutMs);
      while ((await failLateRuns(pool, timeoutMs, AT_ONCE, reasonOf)).length === AT_ONCE);
    }
    const now = performance.now();
    if (now - forgotAt < FORGET_MS) return;
    await forgetTriggers(pool, Math.max(0, ...(file?.rates ?? []).map(({ withinMs }) => withinMs)));
    forgotAt = now;
  };
}

export const lateReason = ({ waited_ms, places, taken }: LateRun, timeoutMs: number): string =>
  `it waited ${spanInWords(waited_ms)} for a place among the active runs of its dag (${taken} of ${places} taken), ` +
  `longer than the ${spanInWords(timeoutMs)} that the limits file allows`;
