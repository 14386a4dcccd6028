/** The rows of waits that begin without a body. */
import { MeridianError } from "../core/errors.ts";
import { askedOf } from "../core/plan.ts";
import type { TemplateValues } from "../core/templates.ts";
import { otherRun, untilAt } from "../core/wait-times.ts";
import { LONGEST_MS, type SerialWait } from "../core/waits.ts";
import type { NewWait, WaitKey } from "../db/waits.ts";
import type { LoadedVersion } from "../db/versions.ts";
import { labelOfWait } from "./labels.ts";
import type { Grant, RunInfo } from "./types.ts";

/** `conf`: what the run was triggered with. */
export function newWait(
  version: LoadedVersion,
  info: RunInfo,
  conf: Readonly<Record<string, unknown>>,
  { taskId, mapIndex, try: number }: Grant,
): NewWait {
  const key: WaitKey = { run: info.run, task_id: taskId, map_index: mapIndex, try: number, wait: 1 };
  const wait = version.waits.get(taskId);
  const values = valuesOf(info, conf, key);
  const base = {
    ...key,
    resumes: false,
    spec: askedBy(version, taskId),
    ...labelOfWait(version.labels.get(taskId), values),
  };
  if (wait === undefined || wait.kind === "sensor")
    return cannotBe(base, "no_wait", `task "${taskId}" of this version waits for nothing by itself`);
  try {
    return { ...base, ...ownOf(wait, values, base.spec) };
  } catch (error) {
    // Whatever it is, it would be the same the next time.
    const code = error instanceof MeridianError ? error.code : "wait_failed";
    return cannotBe(base, code, error instanceof Error ? error.message : String(error));
  }
}

function askedBy({ plan }: LoadedVersion, taskId: string): NewWait["spec"] {
  const position = plan.positions.get(taskId);
  return position === undefined ? {} : askedOf(plan, position);
}

function ownOf(
  wait: Exclude<SerialWait, { kind: "sensor" }>,
  values: TemplateValues,
  spec: NewWait["spec"],
): Pick<NewWait, "kind"> & Partial<NewWait> {
  if (wait.kind === "until") return { kind: "time", next_at: new Date(untilAt(wait, values)).toISOString() };
  const bound = wait.timeoutMs === null ? {} : { expires_in_ms: Math.min(wait.timeoutMs, LONGEST_MS) };
  if (wait.kind === "event") return { kind: "event", ...bound };
  const { logicalAt, runId } = otherRun(wait, values);
  return {
    kind: "run",
    ...bound,
    next_in_ms: 0,
    every_ms: Math.min(wait.everyMs, LONGEST_MS),
    spec: {
      ...spec,
      dag_id: wait.dagId,
      task_id: wait.taskId,
      run_id: runId,
      logical_at: new Date(logicalAt).toISOString(),
    },
  };
}

function valuesOf(info: RunInfo, conf: Readonly<Record<string, unknown>>, key: WaitKey): TemplateValues {
  return {
    dagId: info.dagId,
    taskId: key.task_id,
    runId: info.runId,
    tryNumber: key.try,
    mapIndex: key.map_index,
    zone: info.zone,
    logicalAt: Date.parse(info.logicalDate),
    startAt: Date.parse(info.dataInterval.start),
    endAt: Date.parse(info.dataInterval.end),
    ds: info.ds,
    params: {},
    conf,
  };
}

/** It ends as it begins, and fails its try. */
function cannotBe(base: Omit<NewWait, "kind">, code: string, message: string): NewWait {
  const error = { code, message, retryable: false };
  return { ...base, kind: "event", ended_as: "failed", detail: { error } };
}
