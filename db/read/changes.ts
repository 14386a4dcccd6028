/**
 * What changed since a moment of the database, told by the transaction that last wrote each row (`xmin`): the path of
 * a task pays nothing for it, and a transaction that commits late is not missed. A cursor is the oldest transaction
 * that was under way at that moment (`pg_snapshot_xmin`): all that was not visible then is as new as it or newer.
 * A row may come again while an older transaction is under way; none is missed.
 */
import type { Db } from "../connection.ts";
import { CELL_COLUMNS, RUN_COLUMNS, type CellRow, type RunRow } from "./runs.ts";

/** A moment of the database. */
export interface Moment {
  /** Of the snapshot, as text: equal while no transaction that writes has ended. */
  readonly snapshot: string;
  /** Oldest transaction under way, and the first not yet begun. */
  readonly xmin: bigint;
  readonly xmax: bigint;
  /** Clock of the database, epoch ms. */
  readonly at: number;
}

interface MomentRow {
  readonly snapshot: string;
  readonly snapshot_xmin: string;
  readonly snapshot_xmax: string;
  readonly snapshot_at: number;
}

const MOMENT = `
  select s::text as snapshot, pg_snapshot_xmin(s)::text as snapshot_xmin, pg_snapshot_xmax(s)::text as snapshot_xmax,
    floor(extract(epoch from clock_timestamp()) * 1000)::float8 as snapshot_at
  from pg_current_snapshot() s`;

const momentOf = (row: MomentRow): Moment => ({
  snapshot: row.snapshot,
  xmin: BigInt(row.snapshot_xmin),
  xmax: BigInt(row.snapshot_xmax),
  at: row.snapshot_at,
});

/** Comparing ages, not numbers, holds over the wrap of 32 bits. */
const newer = (row: string, cursor: string): string =>
  `age(${row}.xmin) <= age((${cursor}::text)::xid8::xid)`;

/** By which transaction a row was written, in 32 bits: a row that comes with the same one is the same. */
export interface Written {
  readonly xid: number;
}

export async function readMoment(db: Db): Promise<Moment> {
  const { rows } = await db.query<MomentRow>(MOMENT);
  return momentOf(rows[0]!);
}

/** Runs that have not ended, and the moment of this. */
export async function readOpenRuns(
  db: Db,
): Promise<{ moment: Moment; runs: { run: number; dag_id: string; run_id: string }[] }> {
  const { rows } = await db.query<MomentRow & { run: number | null; dag_id: string; run_id: string }>(
    `select m.*, r.run::float8 as run, r.dag_id, r.run_id from (${MOMENT}) m
     left join app.dag_run r on r.state in ('queued', 'running')`,
  );
  const runs = rows.flatMap(({ run, dag_id, run_id }) => (run === null ? [] : [{ run, dag_id, run_id }]));
  return { moment: momentOf(rows[0]!), runs };
}

/**
 * Runs that changed since `cursor`: those that are open, those of `open` that are so no more, and those made since
 * `madeFrom` (a run number). A run that ended earlier is not looked at.
 */
export async function readChangedRuns(
  db: Db,
  since: { cursor: bigint; open: readonly number[]; madeFrom: number },
): Promise<{ moment: Moment; runs: (RunRow & Written)[] }> {
  const { rows } = await db.query<MomentRow & ((RunRow & Written) | { run: null })>(CHANGED_RUNS, [
    String(since.cursor),
    since.open,
    since.madeFrom,
  ]);
  return { moment: momentOf(rows[0]!), runs: rows.filter((row) => row.run !== null) };
}

export const CHANGED_RUNS = `
  with open as materialized (
    select r.run, ${newer("r", "$1")} as is_new from app.dag_run r where r.state in ('queued', 'running')
  ), changed as (
    select o.run from open o where o.is_new
    union
    select k.run from unnest($2::bigint[]) as k (run) where not exists (select from open o where o.run = k.run)
    union
    select r.run from app.dag_run r where r.run >= $3::bigint and ${newer("r", "$1")}
  ), found as (
    select ${RUN_COLUMNS}, r.xmin::text::float8 as xid from changed c join app.dag_run r on r.run = c.run
    left join app.dag_version v on v.version = r.version
  )
  select m.*, f.* from (${MOMENT}) m left join found f on true`;

export interface ChangedCellRow extends CellRow, Written {
  readonly run: number;
}

/** Cells of these runs that changed since `cursor`. */
export async function readChangedCells(
  db: Db,
  runs: readonly number[],
  cursor: bigint,
): Promise<ChangedCellRow[]> {
  const { rows } = await db.query<ChangedCellRow>(CHANGED_CELLS, [runs, String(cursor)]);
  return rows;
}

export const CHANGED_CELLS = `
  select c.run::float8 as run, ${CELL_COLUMNS}, c.xmin::text::float8 as xid
  from app.cell c where c.run = any ($1::bigint[]) and ${newer("c", "$2")}`;

/** DAGs whose own row changed since `cursor`: paused, unpaused, a new version, another next run. */
export async function readChangedDags(
  db: Db,
  cursor: bigint,
): Promise<({ readonly dag_id: string } & Written)[]> {
  const { rows } = await db.query<{ dag_id: string } & Written>(
    `select d.dag_id, d.xmin::text::float8 as xid from app.dag d where ${newer("d", "$1")} order by d.dag_id`,
    [String(cursor)],
  );
  return rows;
}
