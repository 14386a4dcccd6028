import { join } from "node:path";
import { checkRequestedId, parseRunId } from "../../core/ids.ts";
import { Refused } from "../../core/errors.ts";
import type { LogKey } from "./store.ts";

/**
 * The file of a try's log: `<folder>/<dag>/<run>/<task>[@<index>].<try>.log`. `@` cannot stand in an id, so task `a`
 * at index 1 and task `a.1` never share a file. Anything but checked ids is refused: no path leads outside (K69).
 */
export function logPath(folder: string, key: LogKey): string {
  const dag = checkRequestedId("dag", key.dagId);
  const task = checkRequestedId("task", key.taskId);
  if (parseRunId(key.runId) === null) throw bad("run id", key.runId, "like 2026-05-09T00-00-00Z");
  if (!isWhole(key.mapIndex, -1)) throw bad("map index", key.mapIndex, "-1 or a whole number");
  if (!isWhole(key.try, 1)) throw bad("try", key.try, "a whole number from 1");
  const index = key.mapIndex === -1 ? "" : `@${key.mapIndex}`;
  return join(folder, dag, key.runId, `${task}${index}.${key.try}.log`);
}

const isWhole = (value: number, least: number): boolean => Number.isSafeInteger(value) && value >= least;

const bad = (what: string, value: unknown, expected: string): Refused =>
  new Refused("bad_id", `${what} ${JSON.stringify(value)} is not allowed: expected ${expected}`);
