import type { RunState, RunType, TaskState } from "../../core/states.ts";
import type { Db } from "../connection.ts";
import { pageBounds, type RunKey } from "./runs.ts";

interface GridDag {
  readonly paused: boolean;
  readonly latest: number | null;
  readonly latest_number: number | null;
}

export interface GridRunRow {
  readonly run: number;
  readonly run_id: string;
  readonly run_type: RunType;
  readonly state: RunState;
  readonly logical_at: Date;
  readonly start_at: Date;
  readonly end_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly version_number: number;
  /** Over the run's cells: another one when any of them changed. */
  readonly print: string;
  /** Some of them are instances of mapped tasks. */
  readonly mapped: boolean;
}

/** A DAG and its newest runs before `before`, newest first, in one statement; null when there is no such DAG. */
export async function readGridRuns(
  db: Db,
  dagId: string,
  page: { before: RunKey | null; limit: number },
): Promise<{ dag: GridDag; runs: GridRunRow[] } | null> {
  const { rows } = await db.query<GridDag & (GridRunRow | { run: null })>(GRID_RUNS, [
    dagId,
    ...pageBounds(page.before),
    page.limit,
  ]);
  const dag = rows[0];
  if (dag === undefined) return null;
  return { dag, runs: rows.filter((row) => row.run !== null) };
}

export const GRID_RUNS = `
  select d.paused, d.version::float8 as latest, l.number as latest_number, r.run::float8 as run, r.run_id, r.run_type,
    r.state, r.logical_at, r.start_at, r.end_at, r.started_at, r.ended_at, coalesce(v.number, 0) as version_number,
    p.print, p.mapped
  from app.dag d
  left join app.dag_version l on l.version = d.version
  left join lateral (
    select * from app.dag_run x
    where x.dag_id = $1 and (x.logical_at, x.run) < ($2::timestamptz, $3::bigint)
    order by x.logical_at desc, x.run desc limit $4) r on true
  left join app.dag_version v on v.version = r.version
  left join lateral (
    select coalesce(sum(hash_record_extended(row(c.task_id, c.map_index, c.state, c.try, c.started_at, c.ended_at, c.label is null), 0)), 0)::text as print,
      coalesce(max(c.map_index), -1) >= 0 as mapped
    from app.cell c where c.run = r.run) p on r.run is not null
  where d.dag_id = $1
  order by r.logical_at desc, r.run desc`;

/** `[run, task id, state, try, started, ended]`, instants in epoch ms. */
export type GridCellRow = [
  run: number,
  taskId: string,
  state: TaskState,
  tryNumber: number,
  startedMs: number | null,
  endedMs: number | null,
  /** Of instances of a mapped task in one state: how many they are. */
  count?: number,
  /** Labels of some of them, where they want eyes; in order they would cost twice the rest. */
  labels?: readonly string[] | null,
];

/** The cells of the named runs, as arrays: half the time of objects with dates at 15,000 cells. */
export async function readGridCells(db: Db, runs: readonly number[]): Promise<GridCellRow[]> {
  const { rows } = await db.query<GridCellRow>({ text: GRID_CELLS, values: [runs], rowMode: "array" });
  return rows;
}

export const GRID_CELLS = `
  select run::float8, task_id, state, try,
    floor(extract(epoch from started_at) * 1000)::float8, floor(extract(epoch from ended_at) * 1000)::float8
  from app.cell where run = any($1::bigint[]) and map_index = -1`;

/** Instances of the named runs, those of one task and state as one: with the most tries, from the first start to the last end. */
export async function readMappedCells(db: Db, runs: readonly number[]): Promise<GridCellRow[]> {
  const { rows } = await db.query<GridCellRow>({ text: MAPPED_CELLS, values: [runs], rowMode: "array" });
  return rows;
}

const MAPPED_CELLS = `
  select run::float8, task_id, state, max(try),
    floor(extract(epoch from min(started_at)) * 1000)::float8,
    case when bool_and(ended_at is not null) then floor(extract(epoch from max(ended_at)) * 1000)::float8 end,
    count(*)::int,
    (array_agg(label) filter (where label is not null and state in ('failed', 'up_for_retry', 'running', 'deferred')))[1:4]
  from app.cell where run = any($1::bigint[]) and map_index >= 0 and state <> 'removed'
  group by run, task_id, state`;
