import type { BodyOutcome } from "../../core/body.ts";
import { MeridianError } from "../../core/errors.ts";

export const requeued = (message: string): BodyOutcome => ({ kind: "requeued", message });

export const failed = (code: string, message: string, retryable = true): BodyOutcome => ({
  kind: "failed",
  error: { code, message, retryable },
});

export const seconds = (ms: number): string => `${ms / 1000} s`;

/** Why a signal was aborted, in words. */
function reasonOf(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason.message : typeof reason === "string" ? reason : "asked to stop";
}

/** Why a try's signal is aborted when it is to give its slots back and run again, instead of to end. */
export class GiveBack extends Error {
  override readonly name = "GiveBack";
}

/** What a try that is stopped by its signal ends as. */
export const stoppedAs = (signal: AbortSignal): { kind: "cancelled" | "requeued"; message: string } => ({
  kind: signal.reason instanceof GiveBack ? "requeued" : "cancelled",
  message: reasonOf(signal),
});

/** Code that is not there cannot be helped by another try; a store that does not answer can. */
export function loadFailure(error: unknown, hash: string): BodyOutcome {
  const message = `the code ${hash} could not be loaded: ${error instanceof Error ? error.message : String(error)}`;
  if (error instanceof MeridianError && error.kind !== "retryable") return failed(error.code, message, false);
  return requeued(message);
}
