import type { RunState, RunType, TaskState } from "../../core/states.ts";
import type { Db } from "../connection.ts";

export interface RunRow {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly run_type: RunType;
  readonly state: RunState;
  readonly logical_at: Date;
  readonly start_at: Date;
  readonly end_at: Date;
  readonly queued_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly version_number: number;
  readonly triggered_by: string | null;
  readonly reason: string | null;
}

export interface RunDetailRow extends RunRow {
  readonly version: number;
  readonly conf: Record<string, unknown>;
}

export const RUN_COLUMNS = `
  r.run::float8 as run, r.dag_id, r.run_id, r.run_type, r.state, r.logical_at, r.start_at, r.end_at, r.queued_at,
  r.started_at, r.ended_at, coalesce(v.number, 0) as version_number, r.triggered_by, r.reason`;

/** Where a page of runs ends: (logical date, run). */
export interface RunKey {
  readonly logicalAt: number;
  readonly run: number;
}

/** Bounds above every run, so that one form of the statement, and one plan, serves all pages. */
export const pageBounds = (before: RunKey | null): [string, string | number] =>
  before === null
    ? ["infinity", "9223372036854775807"]
    : [new Date(before.logicalAt).toISOString(), before.run];

/** Runs of a DAG, newest logical date first. */
export async function readDagRuns(
  db: Db,
  dagId: string,
  states: readonly RunState[] | null,
  page: { before: RunKey | null; limit: number },
): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where r.dag_id = $1 and ($2::text[] is null or r.state = any($2))
       and (r.logical_at, r.run) < ($3::timestamptz, $4::bigint)
     order by r.logical_at desc, r.run desc limit $5`,
    [dagId, states, ...pageBounds(page.before), page.limit],
  );
  return rows;
}

/** Runs of all DAGs, newest made first: along the primary key, through one partition after the other. */
export async function readRuns(
  db: Db,
  states: readonly RunState[] | null,
  page: { before: RunKey | null; limit: number },
): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where ($1::text[] is null or r.state = any($1)) and r.run < $2::bigint
     order by r.run desc limit $3`,
    [states, pageBounds(page.before)[1], page.limit],
  );
  return rows;
}

/** One run, by the ledger and then its primary key. */
export async function readRun(
  db: Db,
  dagId: string,
  id: { runId: string; logicalAt: number; fork: number },
): Promise<RunDetailRow | null> {
  const { rows } = await db.query<RunDetailRow>(
    `select ${RUN_COLUMNS}, r.version::float8 as version, r.conf
     from app.run_key k join app.dag_run r on r.run = k.run left join app.dag_version v on v.version = r.version
     where k.dag_id = $1 and k.logical_at = $2 and k.fork = $3 and r.run_id = $4`,
    [dagId, new Date(id.logicalAt), id.fork, id.runId],
  );
  return rows[0] ?? null;
}

export interface CellRow {
  readonly task_id: string;
  readonly map_index: number;
  readonly state: TaskState;
  readonly try: number;
  readonly queued_at: Date | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
}

/** All cells of a run. */
export async function readCells(db: Db, run: number): Promise<CellRow[]> {
  const { rows } = await db.query<CellRow>(
    `select task_id, map_index, state, try, queued_at, started_at, ended_at
     from app.cell where run = $1 order by task_id, map_index`,
    [run],
  );
  return rows;
}

export interface WaitingRow {
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly account: string;
  readonly slots: number;
  readonly reason: string | null;
  readonly since: Date;
}

/** The requests of a run that have not been granted, oldest first. */
export async function readWaiting(db: Db, run: number, limit: number): Promise<WaitingRow[]> {
  const { rows } = await db.query<WaitingRow>(
    `select task_id, map_index, try, account, slots, reason, coalesce(reason_since, requested_at) as since
     from app.lease where run = $1 and granted_at is null order by seq limit $2`,
    [run, limit],
  );
  return rows;
}
