import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from "@temporalio/workflow";
import type { BodyError } from "../core/body.ts";
import type { TryOutcome } from "../core/progress.ts";

/** What Temporal says of an activity that returned no outcome of its own. */
export function outcomeOfFailure(error: unknown): TryOutcome {
  if (isCancellation(error)) return { kind: "cancelled", message: "stopped" };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure && cause.timeoutType === "HEARTBEAT") {
    return {
      kind: "lost",
      error: bodyError("worker_lost", "its worker stopped beating: killed, cut off, or out of memory"),
    };
  }
  if (cause instanceof TimeoutFailure) {
    return { kind: "timed_out", error: bodyError("execution_timeout", cause.message) };
  }
  const code = cause instanceof ApplicationFailure ? (cause.type ?? "activity_failed") : "activity_failed";
  return { kind: "failed", error: bodyError(code, cause instanceof Error ? cause.message : String(cause)) };
}

function bodyError(code: string, message: string): BodyError {
  return { code, message, retryable: true };
}
