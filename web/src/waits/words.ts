/** Waits in words. Pure. */
import type { TryWait } from "../../../api/contracts-waits.ts";
import type { WaitKind } from "../../../core/why-deferred.ts";

/** What each kind waits for. */
export const FOR: Readonly<Record<WaitKind, string>> = {
  event: "somebody",
  sensor: "its check",
  time: "a time",
  run: "another run",
};

/** First what somebody can do something about. */
export const KINDS = ["event", "sensor", "time", "run"] as const satisfies readonly WaitKind[];

const BY_ITSELF: Readonly<Record<WaitKind, string>> = {
  event: "ended",
  sensor: "its check said yes",
  time: "its time came",
  run: "the other run ended",
};

const OTHERWISE: Readonly<Record<Exclude<NonNullable<TryWait["endedAs"]>, "success">, string>> = {
  expired: "its time-out was over",
  timed_out: "the time-out of its try was over",
  skipped: "skipped",
  failed: "failed",
  cancelled: "stopped",
};

/** How a wait ended; null: it has not. */
export function endInWords({ kind, endedAs, endedBy }: Pick<TryWait, "kind" | "endedAs" | "endedBy">) {
  if (endedAs === null) return null;
  if (endedAs !== "success") return OTHERWISE[endedAs];
  return endedBy === null ? BY_ITSELF[kind] : `ended by ${endedBy}`;
}

/** Kinds whose check can be asked for. */
export const isChecked = (kind: WaitKind): boolean => kind === "sensor" || kind === "run";
