import type { SerialGraph } from "../core/graph.ts";
import type { RunProgress } from "../core/progress.ts";
import type { RunState, RunType } from "../core/states.ts";
import type { Db } from "./connection.ts";
import { storableJson, withOutputText } from "./json.ts";
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

/** Runs end; idempotent. True when another run of one of their DAGs waits for the place. */
export async function closeRuns(db: Db, closing: readonly CloseRun[]): Promise<boolean> {
  const rowOf = ({ progress, records, ...close }: CloseRun) => ({
    ...close,
    records: withOutputText(records),
    run_state: progress,
  });
  const { rows } = await db.query<{ waits: boolean }>("select app.close_runs($1) as waits", [
    storableJson(closing.map(rowOf)),
  ]);
  return rows[0]!.waits;
}

/** A first try that a run asks for when it opens. */
export interface FirstRow {
  readonly task_id: string;
  readonly map_index: number;
  readonly account: string;
  readonly slots: number;
  readonly priority: number;
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
  /** Idempotency key of the trigger, if it has one. */
  readonly request?: string | null;
  /** Asked for at once if the run has its place at once; null: the run opens by itself. */
  readonly first: readonly FirstRow[] | null;
}

export interface CreatedRun {
  readonly dag_id: string;
  readonly run_id: string;
  readonly run: number;
  /** false: the ledger had this (DAG, logical date) already. */
  readonly created: boolean;
  /** It is new, or was made before by the same `request`. */
  readonly own: boolean;
  /** Its DAG had a free place: start the workflow. */
  readonly granted: boolean;
  /** Tasks whose first tries have their slots; null: the run opens by itself. */
  readonly grants: readonly string[] | null;
  /** A pass of the allocator is wanted (the same in all rows of an answer). */
  readonly undecided: boolean;
}

/**
 * Creates the runs that the ledger does not have, oldest first; (DAG, logical date) is unique for ever (P10). A manual
 * one leaves its audit row in the same transaction. Answers in the order of `runs`.
 */
export async function createRuns(db: Db, runs: readonly NewRun[]): Promise<readonly CreatedRun[]> {
  if (runs.length === 0) return [];
  const { rows } = await db.query<CreatedRun>("select * from app.create_runs($1)", [JSON.stringify(runs)]);
  return rows;
}

/** Temporal has the workflows of these runs: they are running, and the outbox need not start them. */
export async function runsStarted(db: Db, runs: readonly number[]): Promise<void> {
  await db.query("select app.runs_started($1)", [runs]);
}

/** Null when there is no such run, or retention has taken it. */
export async function runState(db: Db, run: number): Promise<RunState | null> {
  const { rows } = await db.query<Pick<RunRow, "state">>("select state from app.dag_run where run = $1", [
    run,
  ]);
  return rows[0]?.state ?? null;
}

/** What was handed to a run at its trigger. */
export async function confOf(db: Db, run: number): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await db.query<Pick<RunRow, "conf">>("select conf from app.dag_run where run = $1", [run]);
  return rows[0]?.conf ?? {};
}

export interface VersionRow {
  readonly version: number;
  readonly graph: SerialGraph;
  readonly bundle_hash: string;
}

/** Stored versions' graphs and code hashes; those that do not exist are left out. */
export async function versionRows(db: Db, versions: readonly number[]): Promise<readonly VersionRow[]> {
  const { rows } = await db.query<VersionRow>(
    "select version, graph, bundle_hash from app.dag_version where version = any ($1)",
    [versions],
  );
  return rows;
}

export interface BundleRow {
  readonly hash: string;
  readonly code: string;
  readonly source_map: string | null;
}

/** Bundles by hash, in no order; one that is not stored is left out. */
export async function bundleRows(db: Db, hashes: readonly string[]): Promise<readonly BundleRow[]> {
  const { rows } = await db.query<BundleRow>(
    "select hash, code, source_map from app.bundle where hash = any($1)",
    [hashes],
  );
  return rows;
}
