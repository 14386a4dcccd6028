import type { RunState, RunType, TaskState } from "../../core/states.ts";
import type { Db } from "../connection.ts";
import { holding } from "./dags.ts";
import { NOT_BEGUN, withReasons } from "./not-begun.ts";

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

/** The same below every run, for pages that go up. */
const boundsBelow = (after: RunKey | null): [string, string | number] =>
  after === null ? ["-infinity", "-9223372036854775808"] : pageBounds(after);

export interface RunFilter {
  readonly states: readonly RunState[] | null;
  readonly types: readonly RunType[] | null;
  /** Part of the DAG's or the run's id, in any case. */
  readonly search: string | null;
  /** Logical dates from, and before; ISO. */
  readonly from: string | null;
  readonly until: string | null;
}

/** A page behind `key`, newest first unless it goes `up`. */
export interface RunPage {
  readonly key: RunKey | null;
  readonly up: boolean;
  readonly limit: number;
}

const RUN_MATCHES = `
  ($1::text[] is null or r.state = any($1)) and ($2::text[] is null or r.run_type = any($2))
  and ($3::text is null or r.run_id ilike $3 or r.dag_id ilike $3)
  and ($4::timestamptz is null or r.logical_at >= $4) and ($5::timestamptz is null or r.logical_at < $5)`;

const runValues = (f: RunFilter): unknown[] => [f.states, f.types, holding(f.search), f.from, f.until];

/** Runs of a DAG by logical date. */
export async function readDagRuns(
  db: Db,
  dagId: string,
  filter: RunFilter,
  { key, up, limit }: RunPage,
): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where r.dag_id = $6 and ${RUN_MATCHES}
       and (r.logical_at, r.run) ${up ? ">" : "<"} ($7::timestamptz, $8::bigint)
     order by r.logical_at ${up ? "" : "desc"}, r.run ${up ? "" : "desc"} limit $9`,
    [...runValues(filter), dagId, ...(up ? boundsBelow(key) : pageBounds(key)), limit],
  );
  return rows;
}

/** Runs of all DAGs by their making: along the primary key, through one partition after the other. */
export async function readRuns(db: Db, filter: RunFilter, { key, up, limit }: RunPage): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where ${RUN_MATCHES} and r.run ${up ? ">" : "<"} $6::bigint
     order by r.run ${up ? "" : "desc"} limit $7`,
    [...runValues(filter), (up ? boundsBelow(key) : pageBounds(key))[1], limit],
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

export const CELL_COLUMNS = "task_id, map_index, state, try, queued_at, started_at, ended_at";

/** All cells of a run. */
export async function readCells(db: Db, run: number): Promise<CellRow[]> {
  const { rows } = await db.query<CellRow>(
    `select ${CELL_COLUMNS} from app.cell where run = $1 order by task_id, map_index`,
    [run],
  );
  return rows;
}

export interface WaitingRow {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly account: string;
  readonly slots: number;
  /** It has its slots, and no worker has taken it up. */
  readonly not_begun: boolean;
  readonly reason: string | null;
  readonly since: Date;
}

export const WAITING_COLUMNS = `
  l.run, l.task_id, l.map_index, l.try, l.account, l.slots, l.granted_at is not null as not_begun, l.reason,
  coalesce(l.granted_at, l.reason_since, l.requested_at) as since`;

/** What of a run waits, oldest first: its requests that have not been granted, and tries that no worker takes up. */
export async function readWaiting(db: Db, run: number, limit: number): Promise<WaitingRow[]> {
  const { rows } = await db.query<WaitingRow>(
    `select ${WAITING_COLUMNS} from app.lease l
     where l.run = $1 and (l.granted_at is null or ${NOT_BEGUN}) order by l.seq limit $2`,
    [run, limit],
  );
  return await withReasons(db, rows);
}
