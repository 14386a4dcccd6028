import type { SerialGraph } from "../core/graph.ts";
import type { RunProgress } from "../core/run.ts";
import type { RunState, RunType } from "../core/states.ts";
import type { Db } from "./connection.ts";
import type { RecordRow } from "./pools/advance.ts";

export interface RunRow {
  readonly dag_id: string;
  readonly run_id: string;
  readonly run_type: RunType;
  readonly logical_at: Date;
  readonly start_at: Date;
  readonly end_at: Date;
  readonly version: number;
  readonly conf: Record<string, unknown>;
  readonly state: RunState;
  readonly run_state: RunProgress | null;
}

/** The run begins: its row, now `running` unless it is closed. Null when there is no such run. */
export async function openRun(db: Db, run: number): Promise<RunRow | null> {
  const { rows } = await db.query<RunRow>("select * from app.open_run($1)", [run]);
  return rows[0] ?? null;
}

export interface CloseRun {
  readonly run: number;
  readonly records: readonly RecordRow[];
  readonly state: RunState;
  readonly reason: string | null;
  readonly progress: RunProgress | null;
}

/** The run ends; idempotent. True when another run of its DAG waits for the place. */
export async function closeRun(db: Db, close: CloseRun): Promise<boolean> {
  const { rows } = await db.query<{ waits: boolean }>("select app.close_run($1, $2, $3, $4, $5) as waits", [
    close.run,
    JSON.stringify(close.records),
    close.state,
    close.reason,
    JSON.stringify(close.progress),
  ]);
  return rows[0]!.waits;
}

export interface NewRun {
  readonly dag_id: string;
  readonly run_id: string;
  readonly run_type: RunType;
  /** ISO instants. */
  readonly logical_at: string;
  readonly start_at: string;
  readonly end_at: string;
  readonly version: number;
  readonly conf?: Readonly<Record<string, unknown>>;
  readonly who: string;
}

export interface CreatedRun {
  readonly dag_id: string;
  readonly run_id: string;
  readonly run: number;
  /** false: the ledger had this (DAG, logical date) already. */
  readonly created: boolean;
  /** Its DAG had a free place: start the workflow. */
  readonly granted: boolean;
}

/**
 * Creates the runs that the ledger does not have, oldest first; (DAG, logical date) is unique for ever (P10). A manual
 * one leaves its audit row in the same transaction.
 */
export async function createRuns(db: Db, runs: readonly NewRun[]): Promise<readonly CreatedRun[]> {
  if (runs.length === 0) return [];
  const { rows } = await db.query<CreatedRun>("select * from app.create_runs($1)", [JSON.stringify(runs)]);
  return rows;
}

export interface VersionRow {
  readonly graph: SerialGraph;
  readonly bundle_hash: string;
}

/** A stored version's graph and code hash. */
export async function versionOf(db: Db, version: number): Promise<VersionRow | null> {
  const { rows } = await db.query<VersionRow>(
    "select graph, bundle_hash from app.dag_version where version = $1",
    [version],
  );
  return rows[0] ?? null;
}

/** A bundle's code and source map by hash. */
export async function bundleOf(
  db: Db,
  hash: string,
): Promise<{ code: string; source_map: string | null } | null> {
  const { rows } = await db.query<{ code: string; source_map: string | null }>(
    "select code, source_map from app.bundle where hash = $1",
    [hash],
  );
  return rows[0] ?? null;
}
