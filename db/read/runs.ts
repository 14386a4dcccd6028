import type { PackedProgress } from "../../core/packed.ts";
import type { RunProgress } from "../../core/progress.ts";
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
  readonly priority: number;
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
  /** Begun from, and before; ISO. A run that has not begun is in no such span. */
  readonly startedFrom: string | null;
  readonly startedUntil: string | null;
}

/** A page behind `key`, newest first unless it goes `up`. */
export interface RunPage {
  readonly key: RunKey | null;
  readonly up: boolean;
  readonly limit: number;
}

/** A run that begins in a span was made before its end, give or take what clocks differ. */
const CLOCKS_DIFFER_MS = 3_600_000;
/** And hardly ever longer than this before its start: so far back the index is read when too few are found. */
const LONGEST_WAIT_MS = 92 * 86_400_000;

/** Numbers between which the runs lie that began in a span (ISO): a run's number is its time of making (docs/adr/0001). */
export function madeBounds(startedFrom: string | null, startedUntil: string | null): [string, string] {
  const runAt = (iso: string, ms: number): string => String((Date.parse(iso) + ms) * 1000);
  return [
    startedFrom === null ? "-9223372036854775808" : runAt(startedFrom, -LONGEST_WAIT_MS),
    startedUntil === null ? "9223372036854775807" : runAt(startedUntil, CLOCKS_DIFFER_MS),
  ];
}

const RUN_MATCHES = `
  ($1::text[] is null or r.state = any($1)) and ($2::text[] is null or r.run_type = any($2))
  and ($3::text is null or r.run_id ilike $3 or r.dag_id ilike $3)
  and ($4::timestamptz is null or r.logical_at >= $4) and ($5::timestamptz is null or r.logical_at < $5)
  and ($6::timestamptz is null or r.started_at >= $6) and ($7::timestamptz is null or r.started_at < $7)
  and r.run >= $8::bigint and r.run <= $9::bigint`;

const runValues = (f: RunFilter): unknown[] => [
  f.states,
  f.types,
  holding(f.search),
  f.from,
  f.until,
  f.startedFrom,
  f.startedUntil,
  ...madeBounds(f.startedFrom, f.startedUntil),
];

/** Runs of a DAG by logical date. */
export async function readDagRuns(
  db: Db,
  dagId: string,
  filter: RunFilter,
  { key, up, limit }: RunPage,
): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where r.dag_id = $10 and ${RUN_MATCHES}
       and (r.logical_at, r.run) ${up ? ">" : "<"} ($11::timestamptz, $12::bigint)
     order by r.logical_at ${up ? "" : "desc"}, r.run ${up ? "" : "desc"} limit $13`,
    [...runValues(filter), dagId, ...(up ? boundsBelow(key) : pageBounds(key)), limit],
  );
  return rows;
}

/** Runs of all DAGs by their making: along the primary key, through one partition after the other. */
export async function readRuns(db: Db, filter: RunFilter, { key, up, limit }: RunPage): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${RUN_COLUMNS} from app.dag_run r left join app.dag_version v on v.version = r.version
     where ${RUN_MATCHES} and r.run ${up ? ">" : "<"} $10::bigint
     order by r.run ${up ? "" : "desc"} limit $11`,
    [...runValues(filter), (up ? boundsBelow(key) : pageBounds(key))[1], limit],
  );
  return rows;
}

/** How the tasks of a run stand, in short. `failed_task` is the one that failed first. */
export interface RunTasksRow {
  readonly run: number;
  readonly running: number;
  readonly waiting: number;
  readonly failed: number;
  readonly failed_task: string | null;
  readonly failed_map_index: number | null;
  readonly failed_label: string | null;
}

/** Of a run with more cells than this a list tells nothing: a page of such runs would take too long. */
const TOLD_CELLS = 1000;

/**
 * How the tasks of some runs stand, in one statement: the cells of each by its primary key. Runs without cells, and
 * those with more than `TOLD_CELLS`, are left out. 50 runs of 1,000 cells take 40 ms.
 */
export async function readRunTasks(db: Db, runs: readonly number[]): Promise<RunTasksRow[]> {
  if (runs.length === 0) return [];
  const { rows } = await db.query<RunTasksRow>(
    `select s.run::float8 as run, s.running, s.waiting, s.failed, s.tasks[1] as failed_task,
       s.map_indexes[1] as failed_map_index, s.labels[1] as failed_label
     from unnest($1::bigint[]) as r(run) cross join lateral (
       select r.run, count(c.run)::int as cells, count(*) filter (where c.state = 'running')::int as running,
         count(*) filter (where c.state in ('queued', 'up_for_retry', 'deferred'))::int as waiting,
         count(*) filter (where c.state = 'failed')::int as failed,
         array_agg(c.task_id order by c.ended_at, c.task_id, c.map_index) filter (where c.state = 'failed') as tasks,
         array_agg(c.map_index order by c.ended_at, c.task_id, c.map_index) filter (where c.state = 'failed')
           as map_indexes,
         array_agg(c.label order by c.ended_at, c.task_id, c.map_index) filter (where c.state = 'failed') as labels
       from (select * from app.cell where cell.run = r.run limit ${TOLD_CELLS + 1}) c) s
     where s.cells between 1 and ${TOLD_CELLS}`,
    [runs],
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
    `select ${RUN_COLUMNS}, r.version::float8 as version, r.conf, r.priority
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
  /** Of an instance: what people read beside its index. */
  readonly label: string | null;
}

export const CELL_COLUMNS = "task_id, map_index, state, try, queued_at, started_at, ended_at, label";

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

/** Where a run stood at its end; null: that is not kept. */
export async function readProgress(db: Db, run: number): Promise<PackedProgress | RunProgress | null> {
  const { rows } = await db.query<{ run_state: PackedProgress | RunProgress | null }>(
    "select run_state from app.dag_run where run = $1",
    [run],
  );
  return rows[0]?.run_state ?? null;
}

/** Ids of a DAG's runs by logical date, oldest first. */
export async function runIdsBetween(
  db: Db,
  dagId: string,
  from: string,
  until: string,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ run_id: string }>(
    `select r.run_id from app.run_key k join app.dag_run r on r.run = k.run
     where k.dag_id = $1 and k.logical_at >= $2 and k.logical_at < $3
     order by k.logical_at, k.fork limit $4`,
    [dagId, from, until, limit],
  );
  return rows.map((row) => row.run_id);
}
