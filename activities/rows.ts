import { poolAccount } from "../core/ids.ts";
import type { TryOutcome } from "../core/progress.ts";
import type { RecordRow, RequestRow } from "../db/pools/advance.ts";
import { coresOf, type LoadedVersion } from "../db/versions.ts";
import type { Decision, SlotRequest } from "./types.ts";

/** From a run's words to the rows of the projection and the account book. */
export function recordRow(run: number, decision: Decision): RecordRow {
  const { seq, taskId, mapIndex, state, ended } = decision;
  return {
    run,
    seq,
    task_id: taskId,
    map_index: mapIndex,
    try: decision.try,
    state,
    try_state: ended?.state ?? null,
    error: ended === null ? null : errorOf(ended.outcome),
    output: ended === null ? null : outputOf(ended.outcome),
    ...(decision.gone === true && { gone: true }),
  };
}

/** `version`: of the run; null: its workflow's history is older than the version's being sent. */
export function requestRow(run: number, request: SlotRequest, version: LoadedVersion | null): RequestRow {
  return {
    run,
    task_id: request.taskId,
    map_index: request.mapIndex,
    try: request.try,
    ...(request.wait !== undefined && { wait: request.wait }),
    account: poolAccount(request.pool),
    slots: request.slots,
    ...(version !== null && coresOf(version, request.taskId)),
    priority: request.priority,
  };
}

/** The output to keep; null for none, and for one that is stored already. */
export function outputOf(outcome: TryOutcome): unknown {
  return outcome.kind === "success" ? (outcome.output ?? null) : null;
}

export function errorOf(outcome: TryOutcome): unknown {
  switch (outcome.kind) {
    case "failed":
    case "timed_out":
    case "lost":
      return outcome.error;
    case "skipped":
    case "cancelled":
    case "requeued":
      return { code: outcome.kind, message: outcome.message };
    case "success":
    case "deferred":
      return null;
  }
}
