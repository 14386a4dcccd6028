import type { Standing } from "../core/limits.ts";
import type { SerialGraph } from "../core/graph.ts";
import type { ClassNumber } from "../core/limits.ts";
import type { PackedProgress } from "../core/packed.ts";
import type { RunProgress } from "../core/progress.ts";
import type { RunState, RunType } from "../core/states.ts";
import type pg from "pg";
import { transaction, type Db } from "./connection.ts";
import { storableJson, withOutputText } from "./json.ts";
import { placeClosedRun } from "./limits.ts";
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
  readonly run_state: PackedProgress | RunProgress | null;
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
  readonly progress: PackedProgress | null;
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
  /** Left out: 1. */
  readonly cores?: number;
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
  /** By a rule for its caller; null or left out: its DAG's. */
  readonly tenant?: string | null;
  readonly class?: ClassNumber;
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
  /** Of a new run that has its place; else null. */
  readonly standing: Standing | null;
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

export interface FoundRun {
  readonly run: number;
  readonly state: RunState;
  readonly run_type: RunType;
  readonly logical_at: Date;
  /** It waits for its place among the active runs of its DAG, and has not begun. */
  readonly waits_to_begin: boolean;
  readonly standing: Standing;
}

export async function findRun(db: Db, dagId: string, runId: string): Promise<FoundRun | null> {
  const { rows } = await db.query<FoundRun>(
    `select r.run::float8 as run, r.state, r.run_type, r.logical_at, r.run_state is null and exists (
              select from app.lease l where l.run = r.run and l.task_id = '' and l.granted_at is null) as waits_to_begin,
            app.standing_of(r) as standing
     from app.run_key k join app.dag_run r on r.run = k.run where k.dag_id = $1 and r.run_id = $2
     order by r.run desc limit 1`,
    [dagId, runId],
  );
  return rows[0] ?? null;
}

/** False: it has its place by now, and begins. */
export async function endWaitingRun(
  pool: pg.Pool,
  run: number,
  state: "cancelled" | "failed",
  reason: string,
): Promise<boolean> {
  return await transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      "select from app.lease where run = $1 and task_id = '' and granted_at is null for update",
      [run],
    );
    if (rowCount === 0) return false;
    await closeRuns(client, [{ run, records: [], state, reason, progress: null }]);
    return true;
  });
}

export interface AuditRow {
  readonly who: string;
  readonly action: string;
  readonly dagId: string;
  readonly runId: string;
  readonly detail: object;
}

export async function audit(db: Db, { who, action, dagId, runId, detail }: AuditRow): Promise<void> {
  await db.query("insert into app.audit (who, action, dag_id, run_id, detail) values ($1, $2, $3, $4, $5)", [
    who,
    action,
    dagId,
    runId,
    storableJson(detail),
  ]);
}

/** What is to be known of a run before it goes on in another version. */
export type RunFactsRow = Omit<RunRow, "version" | "state" | "run_state">;

/** Null when there is no such run, or retention has taken it. */
export async function runFacts(db: Db, run: number): Promise<RunFactsRow | null> {
  const { rows } = await db.query<RunFactsRow>(
    "select dag_id, run_id, run_type, logical_at, start_at, end_at, conf from app.dag_run where run = $1",
    [run],
  );
  return rows[0] ?? null;
}

/**
 * A closed run goes on from `progress`, with another `version` unless that is null; true: it has its place among the active
 * runs of its DAG. Idempotent.
 */
export async function reopenRun(
  db: Db,
  run: number,
  records: readonly RecordRow[],
  progress: PackedProgress,
  version: number | null,
): Promise<{ readonly placed: boolean; readonly undecided: boolean }> {
  await placeClosedRun(db, run);
  const { rows } = await db.query<{ placed: boolean; undecided: boolean }>(
    "select * from app.reopen_run($1, $2, $3, $4)",
    [run, storableJson(withOutputText(records)), storableJson(progress), version],
  );
  return rows[0]!;
}

export interface TryKey {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
}

/** One text for each try. */
export const tryName = ({ run, task_id, map_index, try: number }: TryKey): string =>
  `${run} ${task_id} ${map_index} ${number}`;

/** Their workers stop these tries within a second. */
export async function stopTries(db: Db, tries: readonly TryKey[]): Promise<void> {
  await db.query("select app.stop_tries($1)", [JSON.stringify(tries)]);
}

/** A try that is to stop. */
export interface StopRow extends TryKey {
  /** Why it is to give its slots back and run again; null: it is to end. */
  readonly give_back: string | null;
}

/** Which tries of these runs are to stop. */
export async function stopsOf(db: Db, runs: readonly number[]): Promise<readonly StopRow[]> {
  const { rows } = await db.query<StopRow>(
    "select run, task_id, map_index, try, give_back from app.stop where run = any ($1)",
    [runs],
  );
  return rows;
}

/** They have ended; and what nobody has taken for a day. */
export async function forgetStops(db: Db, tries: readonly TryKey[]): Promise<void> {
  await db.query(
    `delete from app.stop s using jsonb_to_recordset($1) as t(run bigint, task_id text, map_index integer, try integer)
     where s.run = t.run and s.task_id = t.task_id and s.map_index = t.map_index and s.try = t.try
        or s.at < app.now() - interval '1 day'`,
    [JSON.stringify(tries)],
  );
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
  /** Of its DAG, by the limits in force. */
  readonly tenant: string | null;
}

/** Stored versions' graphs and code hashes; those that do not exist are left out. */
export async function versionRows(db: Db, versions: readonly number[]): Promise<readonly VersionRow[]> {
  const { rows } = await db.query<VersionRow>(
    `select v.version, v.graph, v.bundle_hash, d.tenant
     from app.dag_version v left join app.dag d on d.dag_id = v.dag_id where v.version = any ($1)`,
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
