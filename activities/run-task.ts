import { Context } from "@temporalio/activity";
import type pg from "pg";
import type { BodyContext, BodyOutcome, LogLine } from "../core/body.ts";
import { storeOutput, type NextRow } from "../db/tries.ts";
import type { LogKey, LogStore } from "../platform/logs/store.ts";
import { nextTasks } from "./next-tasks.ts";
import { errorOf, outputOf } from "./rows.ts";
import type { Runner } from "./runner/types.ts";
import type { TryRecords } from "./try-records.ts";
import type { RunTaskInput, TaskActivities, TaskResult } from "./types.ts";
import type { Versions } from "../db/versions.ts";

export interface TaskActivitiesDeps {
  readonly pool: pg.Pool;
  readonly versions: Versions;
  readonly records: TryRecords;
  readonly runner: Runner;
  readonly logs: LogStore;
  /** Names this worker process in tries. */
  readonly workerId: string;
}

/** An output up to this size travels with the result, through Temporal's history; a larger one stays in the store. */
const INLINE_OUTPUT_BYTES = 16 * 1024;

/** One try of a task: its records, its log, its body in a runner thread. */
export function createTaskActivities(deps: TaskActivitiesDeps): TaskActivities {
  return {
    async runTask(input: RunTaskInput): Promise<TaskResult> {
      const { cancellationSignal } = Context.current();
      const stopBeating = beat(input.info.lostAfterMs);
      const key = { run: input.info.run, task_id: input.taskId, map_index: input.mapIndex, try: input.try };
      const logKey = logKeyOf(input);
      let logged = false;
      try {
        const started = deps.records.started({
          ...key,
          worker: deps.workerId,
          at: now(),
          inputs: input.inputs,
        });
        // A body without inputs need not wait for the database.
        const inputs = Object.keys(input.inputs).length === 0 ? {} : await started;
        const outcome = await deps.runner.run(
          {
            bundleHash: input.info.bundleHash,
            loadBundle: async (hash) => await deps.versions.bundle(hash),
            context: contextOf(input),
            inputs,
            executionTimeoutMs: input.executionTimeoutMs,
            isolation: input.isolation,
          },
          cancellationSignal,
          (line) => {
            logged = true;
            deps.logs.append(logKey, [line]);
          },
        );
        // A silent success leaves no log: the record says it all, and a file per try is dear.
        if (logged || outcome.kind !== "success") deps.logs.append(logKey, [closingLine(outcome)]);
        const large = isLarge(outcome);
        if (large) await storeOutput(deps.pool, key, outputOf(outcome));
        const next = outcome.kind === "success" ? await nextOf(deps.versions, input) : [];
        const row = {
          ...key,
          state: outcome.kind,
          at: now(),
          error: errorOf(outcome),
          output: outputOf(outcome),
        };
        const [granted] = await Promise.all([deps.records.ended(row, next), deps.logs.close(logKey)]);
        return { outcome: large ? { kind: "success", output: null } : outcome, granted };
      } finally {
        stopBeating();
      }
    },
  };
}

async function nextOf(versions: Versions, input: RunTaskInput): Promise<NextRow[]> {
  return nextTasks(await versions.load(input.info.version), input.info.run, input.taskId);
}

const now = (): string => new Date().toISOString();

/**
 * The worker beats for the body, so a body that blocks its thread is not taken for a dead worker. The first beat comes
 * after a third of the time-out: a short try costs none (each is a call to the server and a write there).
 */
function beat(lostAfterMs: number): () => void {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), Math.max(200, Math.floor(lostAfterMs / 3)));
  return () => clearInterval(timer);
}

function contextOf(input: RunTaskInput): BodyContext {
  const { version: _version, bundleHash: _hash, lostAfterMs: _lost, taskQueue: _queue, ...info } = input.info;
  return {
    ...info,
    taskId: input.taskId,
    mapIndex: input.mapIndex,
    try: input.try,
    maxTries: input.maxTries,
  };
}

function logKeyOf(input: RunTaskInput): LogKey {
  const { dagId, runId } = input.info;
  return { dagId, runId, taskId: input.taskId, mapIndex: input.mapIndex, try: input.try };
}

function isLarge(outcome: BodyOutcome): boolean {
  if (outcome.kind !== "success" || outcome.output === undefined) return false;
  return Buffer.byteLength(JSON.stringify(outcome.output)) > INLINE_OUTPUT_BYTES;
}

function closingLine(outcome: BodyOutcome): LogLine {
  const at = Date.now();
  switch (outcome.kind) {
    case "success":
      return { at, level: "info", text: "the try succeeded" };
    case "failed":
    case "timed_out":
      return {
        at,
        level: "error",
        text: outcome.error.stack ?? `${outcome.error.code}: ${outcome.error.message}`,
      };
    case "skipped":
    case "cancelled":
    case "requeued":
      return { at, level: "info", text: `${outcome.kind}: ${outcome.message}` };
  }
}
