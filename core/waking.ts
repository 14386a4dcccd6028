/** How a try begins to wait, and what follows when its wait has ended. Pure. */
import type { BodyError } from "./body.ts";
import type { RunCell } from "./cells.ts";
import type { Draft } from "./draft.ts";
import type { At, RecordEffect, RunEvent, TryOutcome } from "./progress.ts";
import type { WaitEnd } from "./waits.ts";

/** A body waits: the worker has written down what for. */
export function deferred(draft: Draft, at: At): void {
  if (draft.isEnding(at)) {
    draft.settle(at, draft.endState, abandoned("the run was ended"));
    return;
  }
  const { resume: _, resumeOf: __, ...cell } = draft.cell(at);
  draft.cells.set(at.task, at.index, {
    ...cell,
    state: "deferred",
    lost: 0,
    waits: (cell.waits ?? 0) + 1,
  });
  draft.record(at, "deferred", null);
  if (at.index >= 0) draft.release(at.task);
}

export function woken(draft: Draft, event: Extract<RunEvent, { kind: "woken" }>): void {
  if (!draft.isAt(event, "deferred")) return;
  const { waits, resume } = draft.cell(event);
  if (waits !== event.wait || resume !== undefined) return;
  WAKE[event.end.kind](draft, event, event.end as never);
}

type Wake<K extends WaitEnd["kind"]> = (draft: Draft, at: At, end: Extract<WaitEnd, { kind: K }>) => void;

const WAKE: { readonly [K in WaitEnd["kind"]]: Wake<K> } = {
  success: (draft, at, { measured }) =>
    draft.succeeded(at, { kind: "success", output: null, ...(measured !== undefined && { measured }) }),
  resume: (draft, at, { by }) => {
    draft.cells.set(at.task, at.index, { ...draft.cell(at), resume: { by } });
    draft.request(at);
  },
  expired: (draft, at, { message }) => expired(draft, at, message),
  timed_out: (draft, at, { message }) => {
    const error = { code: "execution_timeout", message, retryable: true };
    draft.failed(at, "timed_out", { kind: "timed_out", error }, error);
  },
  skipped: (draft, at, { message }) =>
    draft.settle(at, "skipped", { state: "skipped", outcome: { kind: "skipped", message } }),
  failed: (draft, at, { error }) => draft.failed(at, "failed", { kind: "failed", error }, error),
};

/** The code of a wait's own time-out, which no retry follows (P6). */
export const WAIT_TIMEOUT = "wait_timeout";

export function expired(draft: Draft, at: At, message: string): void {
  if (draft.plan.tasks[at.task]!.wait?.softFail === true) {
    draft.settle(at, "skipped", { state: "skipped", outcome: { kind: "skipped", message } });
    return;
  }
  const error: BodyError = { code: WAIT_TIMEOUT, message, retryable: false };
  draft.settle(at, "failed", { state: "timed_out", outcome: { kind: "timed_out", error } });
}

/** How a try ends that waits, or has waited and not gone on yet, when its cell is taken from it; null: there is none. */
export function abandonedOf(cell: RunCell, message: string): RecordEffect["ended"] {
  const waits = cell.state === "deferred" || (cell.state === "queued" && cell.resume !== undefined);
  return waits ? abandoned(message) : null;
}

const abandoned = (message: string): NonNullable<RecordEffect["ended"]> => ({
  state: "cancelled",
  outcome: { kind: "cancelled", message },
});

/** Of a try that was asked to stop: it waits for nothing any more. */
export const stoppedOutcome = (outcome: TryOutcome): TryOutcome =>
  outcome.kind === "deferred" ? { kind: "cancelled", message: "stopped" } : outcome;
