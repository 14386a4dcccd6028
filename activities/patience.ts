import { setTimeout as sleep } from "node:timers/promises";
import { isAway } from "../db/connection.ts";

const FIRST_MS = 100;
const LONGEST_MS = 2_000;

/** Calls until the database answers: that it is away is no failure of a task. Any other error is thrown, as is an abort. */
export async function untilThere<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(LONGEST_MS, waitMs * 2)) {
    try {
      return await call();
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error;
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
