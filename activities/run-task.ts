import { Context } from "@temporalio/activity";
import type pg from "pg";
import type { BodyContext, BodyOutcome, LogLine } from "../core/body.ts";
import { storeOutput } from "../db/tries.ts";
import type { LogKey, LogStore } from "../platform/logs/store.ts";
import { runBody, type BodyEnd } from "./body-run.ts";
import { boundsOf, byItsWait } from "./bounds.ts";
import type { Confs } from "./confs.ts";
import { beginWait, resumedWith, waitByOf, type DeferringDeps } from "./deferring.ts";
import { labelling } from "./labels.ts";
import type { LargeValues } from "./large-values.ts";
import { nextTasks } from "./next-tasks.ts";
import { untilThere } from "./patience.ts";
import { errorOf, outputOf } from "./rows.ts";
import type { Runner } from "./runner/types.ts";
import { assemble, isRead } from "./try-inputs.ts";
import type { Versions } from "../db/versions.ts";
import type { TryRecords } from "./try-records.ts";
import type { Stops } from "./stops.ts";
import type { RunInfo, RunTaskInput, TaskActivities, TaskResult } from "./types.ts";

export interface TaskActivitiesDeps extends DeferringDeps {
  readonly pool: pg.Pool;
  readonly versions: Versions;
  readonly confs: Confs;
  readonly records: TryRecords;
  readonly runner: Runner;
  readonly logs: LogStore;
  readonly values: LargeValues;
  readonly stops: Stops;
  /** Names this worker process in tries. */
  readonly workerId: string;
}

/**
 * An output up to this size travels with the result and the run's words about it, through Temporal's history (50 MB for all
 * of a run); a larger one stays in the store, where those who want it look anyway.
 */
const INLINE_OUTPUT_BYTES = 1024;

/** One try of a task: its records, its log, its body in a runner thread. */
export function createTaskActivities(deps: TaskActivitiesDeps): TaskActivities {
  return {
    async runTask(input: RunTaskInput): Promise<TaskResult> {
      const stopBeating = beat(input.info.lostAfterMs);
      const key = { run: input.info.run, task_id: input.taskId, map_index: input.mapIndex, try: input.try };
      const watched = deps.stops.watch(key, Context.current().cancellationSignal);
      const cancellationSignal = watched.signal;
      const logKey = logKeyOf(input.info, input);
      let logged = false;
      try {
        const started = deps.records.started({
          ...key,
          worker: deps.workerId,
          at: now(),
          inputs: input.inputs,
        });
        // What the database refuses is told by the try's end.
        started.catch(() => undefined);
        // A body without inputs need not wait for the database.
        const isRefs = Object.values(input.inputs).some(isRead);
        const inputs = isRefs ? await started : assemble(input.inputs, []);
        const there = async <T>(call: () => Promise<T>): Promise<T> =>
          await untilThere(cancellationSignal, call);
        const conf = input.info.conf ?? (await there(async () => await deps.confs.of(input.info.run)));
        const version = await there(async () => await deps.versions.load(input.info.version));
        const { context, begunBy } = await there(async () => await resumedWith(deps, version, key, input));
        const waitBy = waitByOf(version, input);
        const bounds = boundsOf(input, waitBy, begunBy);
        const run = input.refused === undefined ? runBody : async () => refusal(input.refused!);
        const ended = await run(
          deps,
          {
            bundleHash: input.info.bundleHash,
            loadBundle: async (hash) => await there(async () => await deps.versions.bundle(hash)),
            context: { ...contextOf(input.info, input, conf), ...context },
            inputs,
            refs: input.inputs,
            ...(input.asked !== undefined && { asked: input.asked }),
            executionTimeoutMs: bounds.limitMs,
            isolation: input.isolation,
            ...labelling(deps.records, key, version.labels.get(input.taskId)),
          },
          cancellationSignal,
          (line) => {
            logged = true;
            deps.logs.append(logKey, [line]);
          },
        );
        const { stored } = ended;
        const outcome = byItsWait(ended.outcome, waitBy);
        // A silent success leaves no log: the record says it all, and a file per try is dear.
        if (logged || (outcome.kind !== "success" && outcome.kind !== "deferred"))
          deps.logs.append(logKey, [closingLine(outcome)]);
        const large = isLarge(outcome);
        if (large || stored !== null) {
          await started;
          await there(async () => await storeOutput(deps.pool, key, outputOf(outcome), stored));
        }
        if (outcome.kind === "deferred") {
          await started;
          await there(
            async () => await beginWait(deps, version, key, input, outcome.deferral, { ...bounds, waitBy }),
          );
        }
        const next = outcome.kind === "success" ? nextTasks(version, key.run, input.taskId) : [];
        const row = {
          ...key,
          state: outcome.kind,
          at: now(),
          error: errorOf(outcome),
          output: large ? null : outputOf(outcome),
        };
        const [granted] = await Promise.all([deps.records.ended(row, next), deps.logs.close(logKey)]);
        const told = large && outcome.kind === "success" ? { ...outcome, output: null } : outcome;
        const isFirst = waitBy !== undefined && input.waitBy === undefined;
        return { outcome: isFirst ? { ...told, waitBy } : told, granted };
      } finally {
        watched.end();
        stopBeating();
      }
    },
  };
}

/** Another try would be refused as well. */
const refusal = (message: string): BodyEnd => ({
  outcome: { kind: "failed", error: { code: "queue_refused", message, retryable: false } },
  stored: null,
});

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

export type TryName = Pick<RunTaskInput, "taskId" | "mapIndex" | "try" | "maxTries">;

export function contextOf(
  {
    version: _version,
    bundleHash: _hash,
    lostAfterMs: _lost,
    taskQueue: _queue,
    turnOverEvents: _events,
    ...info
  }: RunInfo,
  { taskId, mapIndex, try: number, maxTries }: TryName,
  conf: BodyContext["conf"],
): BodyContext {
  return { ...info, conf, taskId, mapIndex, try: number, maxTries };
}

export function logKeyOf(
  { dagId, runId }: RunInfo,
  { taskId, mapIndex, try: number }: Omit<TryName, "maxTries">,
): LogKey {
  return { dagId, runId, taskId, mapIndex, try: number };
}

export function isLarge(outcome: BodyOutcome): boolean {
  if (outcome.kind !== "success" || outcome.output === undefined) return false;
  return Buffer.byteLength(JSON.stringify(outcome.output)) > INLINE_OUTPUT_BYTES;
}

export function closingLine(outcome: BodyOutcome): LogLine {
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
    case "deferred":
      return { at, level: "info", text: "the try waits" };
    case "skipped":
    case "cancelled":
    case "requeued":
      return { at, level: "info", text: `${outcome.kind}: ${outcome.message}` };
  }
}
