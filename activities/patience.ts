import { setTimeout as sleep } from "node:timers/promises";
import { isAway } from "../db/connection.ts";

const FIRST_MS = 100;

export interface Patience {
  /** Whether the same call may succeed later. */
  readonly isAway: (error: unknown) => boolean;
  readonly longestWaitMs: number;
  /** Hears of each failed call. */
  readonly onAway?: (error: unknown) => void;
}

const DATABASE: Patience = { isAway, longestWaitMs: 2_000 };

/**
 * Calls until the database (or what `patience` is for) answers: that it is away is no failure of a task. Any other error is
 * thrown, as is the last one when the wait is aborted.
 */
export async function untilThere<T>(
  signal: AbortSignal,
  call: () => Promise<T>,
  patience: Patience = DATABASE,
): Promise<T> {
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(patience.longestWaitMs, waitMs * 2)) {
    try {
      return await call();
    } catch (error) {
      if (!patience.isAway(error) || signal.aborted) throw error;
      patience.onAway?.(error);
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
