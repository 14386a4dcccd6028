/** Until when a try may go on (P6). */
import type { BodyOutcome } from "../core/body.ts";
import { WAIT_TIMEOUT } from "../core/waking.ts";
import type { RunTaskInput } from "./types.ts";

export interface Bounds {
  /** How long the body may take, ms; null: as it likes. */
  readonly limitMs: number | null;
  /** When the try's execution time-out is over, epoch ms; null: never. */
  readonly tryBy: number | null;
}

export function boundsOf({ executionTimeoutMs, resumed, waitBy }: RunTaskInput): Bounds {
  const at = Date.now();
  const begun = executionTimeoutMs === null ? null : at + executionTimeoutMs;
  const tryBy = resumed?.by === undefined ? begun : resumed.by;
  const by = Math.min(tryBy ?? Infinity, waitBy ?? Infinity);
  return { limitMs: by === Infinity ? null : Math.max(1, by - at), tryBy };
}

/** A check of a sensor that was ended by the sensor's own time-out. */
export function byItsWait(outcome: BodyOutcome, waitBy: number | undefined): BodyOutcome {
  if (outcome.kind !== "timed_out" || waitBy === undefined || Date.now() < waitBy) return outcome;
  const message = "what it waits for did not come within its timeout";
  return { kind: "timed_out", error: { code: WAIT_TIMEOUT, message, retryable: false } };
}
