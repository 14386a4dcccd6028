import type { Standing } from "../../core/limits.ts";
import type { RunType } from "../../core/states.ts";
import type { Db } from "../connection.ts";
import type { GrantRow } from "./advance.ts";

/** A grant that its run has not been told of. `task_id` is '' for the run's own place: start its workflow. */
export interface UntoldGrant extends GrantRow {
  readonly dag_id: string;
  readonly run_id: string;
  readonly run_type: RunType;
  readonly logical_at: Date;
  readonly standing: Standing;
  /** The run had ended before. */
  readonly is_reopened: boolean;
}

/** A run is told of its tries' grants once Temporal has it: its own place comes first. */
const TELLABLE = `l.granted_at is not null and not l.known and (l.task_id = '' or not exists (
  select from app.lease o where o.run = l.run and o.task_id = '' and not o.known))`;

/**
 * Takes up to `limit` grants that their runs may not know of; nobody else takes them for `holdMs`. Who takes them and
 * dies has lost nothing: they come up again. Telling twice is harmless. A try that has begun knows: it is only marked.
 */
export async function takeUntold(db: Db, limit: number, holdMs: number): Promise<readonly UntoldGrant[]> {
  const { rows } = await db.query<UntoldGrant>(
    `with taken as (
       select l.run, l.task_id, l.map_index, l.try from app.lease l
       where ${TELLABLE} and l.tell_after <= app.now()
       order by l.tell_after limit $1 for update skip locked
     ), held as (
       update app.lease l set tell_after = app.now() + make_interval(secs => $2::double precision / 1000),
         known = exists (select from app.task_try t
           where t.run = l.run and t.task_id = l.task_id and t.map_index = l.map_index and t.try = l.try
             -- One that goes on after a wait has a row already.
             and t.state <> 'deferred')
       from taken t where l.run = t.run and l.task_id = t.task_id and l.map_index = t.map_index and l.try = t.try
       returning l.run, l.task_id, l.map_index, l.try, l.wait, l.known
     )
     select h.run, h.task_id, h.map_index, h.try, h.wait, d.dag_id, d.run_id, d.run_type, d.logical_at,
       d.run_state is not null as is_reopened, app.standing_of(d) as standing
     from held h join app.dag_run d on d.run = h.run where not h.known
     order by h.run, h.task_id, h.map_index`,
    [limit, holdMs],
  );
  return rows;
}

/** When the next untold grant may be told, in ms from now; null when there is none. */
export async function nextUntoldInMs(db: Db): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>(
    `select extract(epoch from min(l.tell_after) - app.now())::double precision * 1000 as ms
     from app.lease l where ${TELLABLE}`,
  );
  return rows[0]?.ms ?? null;
}

/** The runs know. */
export async function markTold(db: Db, grants: readonly UntoldGrant[]): Promise<void> {
  await db.query(
    `update app.lease l set told_at = app.now(), known = true
     from unnest($1::bigint[], $2::text[], $3::integer[], $4::integer[]) as g(run, task_id, map_index, try)
     where l.run = g.run and l.task_id = g.task_id and l.map_index = g.map_index and l.try = g.try`,
    [
      grants.map((g) => g.run),
      grants.map((g) => g.task_id),
      grants.map((g) => g.map_index),
      grants.map((g) => g.try),
    ],
  );
}
