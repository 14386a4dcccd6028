/** Until when a try may go on (P6). */
import type { BodyOutcome } from "../core/body.ts";
import { after, LATE } from "../core/waits.ts";
import { WAIT_TIMEOUT } from "../core/waking.ts";
import type { RunTaskInput } from "./types.ts";

export interface Bounds {
  /** How long the body may take, ms; null: as it likes. */
  readonly limitMs: number | null;
  /** When the try's execution time-out is over, epoch ms; null: never. */
  readonly tryBy: number | null;
}

/**
 * As its body begins. `waitBy`: when its sensor's time-out is over. `begunBy`: when the execution time-out of a try is over
 * that goes on after a wait; undefined: it begins.
 */
export function boundsOf(
  { executionTimeoutMs }: RunTaskInput,
  waitBy: number | undefined,
  begunBy: number | null | undefined,
): Bounds {
  const at = Date.now();
  const begun = executionTimeoutMs === null ? null : after(at, executionTimeoutMs);
  const tryBy = begunBy === undefined ? begun : begunBy;
  return { limitMs: leftMs(at, tryBy, waitBy), tryBy };
}

/** From `at` until the first of these instants, at least 1; null: there is none. */
export function leftMs(at: number, ...instants: readonly (number | null | undefined)[]): number | null {
  const by = Math.min(...instants.map((one) => one ?? Infinity));
  return by === Infinity ? null : Math.max(1, by - at);
}

/** A check of a sensor that was ended by the sensor's own time-out. */
export function byItsWait(outcome: BodyOutcome, waitBy: number | undefined): BodyOutcome {
  if (outcome.kind !== "timed_out" || waitBy === undefined || Date.now() < waitBy) return outcome;
  return { kind: "timed_out", error: { code: WAIT_TIMEOUT, message: LATE, retryable: false } };
}
