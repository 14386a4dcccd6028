import { DefinitionError, Refused } from "./errors.ts";

/**
 * Ids are used in paths, workflow ids, file names and labels, so only safe characters are allowed (K68, K69):
 * letters, digits, `_`, `-` and inner dots.
 */
const ID = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_-])){0,199}$/;
export const ID_RULE = "1 to 200 letters, digits, _ or -, with single dots inside";

export function isId(text: string): boolean {
  return ID.test(text);
}

/** For DAG files. `what` is the kind of thing: "dag", "task", "pool". */
export function checkId(what: string, text: unknown, where = ""): string {
  if (typeof text === "string" && isId(text)) return text;
  throw new DefinitionError(
    "bad_id",
    `${where}${what} id ${JSON.stringify(text)} is not allowed: expected ${ID_RULE}`,
  );
}

/** For requests. */
export function checkRequestedId(what: string, text: string): string {
  if (isId(text)) return text;
  throw new Refused("bad_id", `${what} id ${JSON.stringify(text)} is not allowed: expected ${ID_RULE}`);
}

/**
 * A run's id within its DAG is its logical date in safe characters: `2026-05-09T00-00-00Z`, with `-123` before the Z
 * when the date has milliseconds, and `.fork-N` behind it for a fork (P11). (DAG, run id) is unique for ever (P10).
 */
export function runIdOf(logicalAt: number, fork = 0): string {
  const iso = new Date(logicalAt).toISOString();
  const ms = logicalAt % 1000 === 0 ? "" : `-${iso.slice(20, 23)}`;
  return `${iso.slice(0, 19).replaceAll(":", "-")}${ms}Z${fork > 0 ? `.fork-${fork}` : ""}`;
}

const RUN_ID = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)(?:-(\d{3}))?Z(?:\.fork-([1-9]\d{0,5}))?$/;

/** The inverse of `runIdOf`; null when the text is no run id. */
export function parseRunId(text: string): { logicalAt: number; fork: number } | null {
  const m = RUN_ID.exec(text);
  if (m === null) return null;
  const logicalAt = Date.parse(`${m[1]}${m[2]}:${m[3]}:${m[4]}.${m[5] ?? "000"}Z`);
  return Number.isNaN(logicalAt) ? null : { logicalAt, fork: m[6] === undefined ? 0 : Number(m[6]) };
}

/** Workflow id of a run: readable in Temporal Web (design 9). */
export function workflowIdOf(dagId: string, runId: string): string {
  return `run.${dagId}.${runId}`;
}

/** Workflow id of a part of a run, by the run's own (workflows/run-part.ts). */
export const partIdOf = (workflowId: string, part: number): string => `${workflowId}.part-${part}`;

/** The account of a pool (design 4). */
export const poolAccount = (pool: string): string => `pool:${pool}`;
export const DEFAULT_POOL = "default_pool";

/** Temporal task queue of a queue profile. Workflows and default tasks share one, so that activities can start eagerly. */
export function taskQueueOf(prefix: string, queue: string): string {
  return queue === "default" ? prefix : `${prefix}-${queue}`;
}
