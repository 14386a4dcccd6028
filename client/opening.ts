import { dsOf, isoOf } from "../core/calendar/dates.ts";
import type { RunType } from "../core/states.ts";
import type { CreatedRun, FirstRow, NewRun, RunFactsRow } from "../db/runs.ts";
import type { LoadedVersion } from "../db/versions.ts";
import type { OpenedAtStart } from "../workflows/messages.ts";

export interface OpeningSettings {
  /** Prefix of Temporal task queues. */
  readonly taskQueue: string;
  /** A worker silent for so long is taken as dead, ms. */
  readonly lostAfterMs: number;
  /** Events of a run's workflow from which it goes on in a new execution. */
  readonly turnOverEvents: number;
}

export interface RunFacts {
  readonly dagId: string;
  readonly runId: string;
  readonly run: number;
  readonly runType: RunType;
  /** Epoch ms. */
  readonly logicalAt: number;
  readonly startAt: number;
  readonly endAt: number;
  readonly version: number;
  readonly conf: Readonly<Record<string, unknown>>;
}

/** From a run's row, with the version it goes by. */
export const factsOf = (run: number, row: RunFactsRow, version: number): RunFacts => ({
  dagId: row.dag_id,
  runId: row.run_id,
  run,
  runType: row.run_type,
  logicalAt: row.logical_at.getTime(),
  startAt: row.start_at.getTime(),
  endAt: row.end_at.getTime(),
  version,
  conf: row.conf,
});

/** It goes into the input of each try, and a workflow's turn may start hundreds of them within Temporal's 4 MB. */
const CONF_BYTES = 1024;

/** What is the same for all tries of a run. */
export function runInfoOf(
  { startAt, endAt, logicalAt, conf, ...facts }: RunFacts,
  { bundleHash, zone }: LoadedVersion,
  { taskQueue, lostAfterMs, turnOverEvents }: OpeningSettings,
): OpenedAtStart["info"] {
  return {
    ...facts,
    conf: Buffer.byteLength(JSON.stringify(conf)) <= CONF_BYTES ? conf : null,
    logicalDate: isoOf(logicalAt),
    dataInterval: { start: isoOf(startAt), end: isoOf(endAt) },
    ds: dsOf(startAt, zone),
    zone,
    bundleHash,
    lostAfterMs,
    taskQueue,
    turnOverEvents,
  };
}

/** The row that makes a run. */
export function newRun(
  { dagId, runId, runType, logicalAt, startAt, endAt, version, conf }: Omit<RunFacts, "run">,
  who: string,
  request: string | null,
  first: readonly FirstRow[] | null,
): NewRun {
  return {
    dag_id: dagId,
    run_id: runId,
    run_type: runType,
    logical_at: isoOf(logicalAt),
    start_at: isoOf(startAt),
    end_at: isoOf(endAt),
    version,
    conf,
    who,
    request,
    first,
  };
}

/** What a run asks for with its creation; null for one whose plan is too large for a workflow's input. */
export function firstOf(version: LoadedVersion): readonly FirstRow[] | null {
  return version.isSmall ? version.first : null;
}

/** The part of a workflow's input that saves a run its opening; undefined for one that opens itself. */
export function openedAtStart(
  { grants }: Pick<CreatedRun, "grants">,
  facts: RunFacts,
  version: LoadedVersion,
  settings: OpeningSettings,
): OpenedAtStart | undefined {
  if (grants === null) return undefined;
  return { info: runInfoOf(facts, version, settings), graph: version.graph, grants };
}
