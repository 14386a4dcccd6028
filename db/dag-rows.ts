import type { PlanInput } from "../core/calendar/plan.ts";
import type { Timetable } from "../core/calendar/timetable.ts";
import type { Db } from "./connection.ts";

export interface DagRow {
  readonly dag_id: string;
  readonly active: boolean;
  readonly paused: boolean;
  readonly version: number | null;
  readonly timetable: Timetable;
  readonly start_at: Date | null;
  readonly end_at: Date | null;
  readonly catchup: boolean;
  readonly cursor_at: Date | null;
  readonly first_seen_at: Date;
  readonly uncovered: { startAt: string; endAt: string } | null;
  readonly owner: string;
  readonly tags: readonly string[];
  /** By the limits file; null: none. */
  readonly tenant: string | null;
}

/** What the calendar is asked with. */
export const planInputOf = (dag: DagRow, nowAt: number): Omit<PlanInput, "limit"> => ({
  timetable: dag.timetable,
  startAt: dag.start_at?.getTime() ?? null,
  endAt: dag.end_at?.getTime() ?? null,
  catchup: dag.catchup,
  cursorAt: dag.cursor_at?.getTime() ?? null,
  firstSeenAt: dag.first_seen_at.getTime(),
  nowAt,
});

const COLUMNS =
  "dag_id, active, paused, version, timetable, start_at, end_at, catchup, cursor_at, first_seen_at, uncovered, owner, tags, tenant";

/** In the order of `ids`; null for what does not exist. */
export async function dagsOf(db: Db, ids: readonly string[]): Promise<readonly (DagRow | null)[]> {
  const { rows } = await db.query<DagRow>(`select ${COLUMNS} from app.dag where dag_id = any ($1)`, [ids]);
  const byId = new Map(rows.map((row) => [row.dag_id, row]));
  return ids.map((id) => byId.get(id) ?? null);
}

/** Ids that exist, for "did you mean". */
export async function dagIds(db: Db): Promise<readonly string[]> {
  const { rows } = await db.query<{ dag_id: string }>(
    "select dag_id from app.dag order by dag_id limit 10000",
  );
  return rows.map((row) => row.dag_id);
}

/** Takes DAGs of a shard that are due, for this transaction only; others skip them. `only` narrows it to some. */
export async function takeDue(
  db: Db,
  nowAt: number,
  shard: number,
  shards: number,
  limit: number,
  only: readonly string[] | null = null,
): Promise<readonly DagRow[]> {
  const { rows } = await db.query<DagRow>(
    `select ${COLUMNS} from app.dag
     where active and not paused and version is not null and next_due_at <= $1 and shard % $3 = $2
       and ($5::text[] is null or dag_id = any ($5))
     order by next_due_at limit $4 for update skip locked`,
    [new Date(nowAt), shard, shards, limit, only],
  );
  return rows;
}

/**
 * As `takeDue`, by name and due or not: what was just stored or switched on is due by the database's clock, and the
 * caller's own may be behind it.
 */
export async function takeNamed(db: Db, ids: readonly string[]): Promise<readonly DagRow[]> {
  const { rows } = await db.query<DagRow>(
    `select ${COLUMNS} from app.dag
     where active and not paused and version is not null and dag_id = any ($1)
     order by dag_id for update skip locked`,
    [ids],
  );
  return rows;
}

export interface CursorRow {
  readonly dag_id: string;
  readonly cursor_at: string | null;
  readonly next_due_at: string | null;
  readonly uncovered: { startAt: string; endAt: string } | null;
}

/** Where each DAG's calendar stands now. */
export async function storeCursors(db: Db, cursors: readonly CursorRow[]): Promise<void> {
  await db.query(
    `update app.dag d set cursor_at = c.cursor_at, next_due_at = c.next_due_at,
            uncovered = coalesce(c.uncovered, d.uncovered)
     from jsonb_to_recordset($1) as c(dag_id text, cursor_at timestamptz, next_due_at timestamptz, uncovered jsonb)
     where d.dag_id = c.dag_id`,
    [JSON.stringify(cursors)],
  );
}

/** Pauses or unpauses, with the audit row; scheduled runs without a place are held meanwhile. False when there is no such DAG. */
export async function setPaused(
  db: Db,
  dagId: string,
  paused: boolean,
  who: string,
  reason: string | null,
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>("select app.set_paused($1, $2, $3, $4) as found", [
    dagId,
    paused,
    who,
    reason,
  ]);
  return rows[0]!.found;
}

/**
 * Pauses those DAGs of these runs, all failed, whose last runs have failed as often in a row as they allow (A5); answers
 * their ids.
 */
export async function pauseFailing(db: Db, runs: readonly number[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ dag_id: string }>(
    `select d.dag_id, app.set_paused(d.dag_id, true, 'meridian',
              'the last ' || case when d.max_failed_runs = 1 then 'run' else d.max_failed_runs || ' runs' end || ' failed')
     from app.dag d
     where d.dag_id in (select r.dag_id from app.dag_run r where r.run = any ($1))
       and d.max_failed_runs is not null and not d.paused
       and (select count(*) = d.max_failed_runs and bool_and(s.state = 'failed') from (
              select r.state from app.dag_run r
              where r.dag_id = d.dag_id and r.state in ('success', 'failed', 'cancelled')
              order by r.logical_at desc, r.run desc limit d.max_failed_runs) s)`,
    [runs],
  );
  return rows.map((row) => row.dag_id);
}
