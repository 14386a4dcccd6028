import type { Db } from "../connection.ts";
import type { DagRow } from "./types.ts";

/**
 * Makes DAGs active with these facts. One that is new, comes back, or has other dates is due at once, so that
 * `createRuns` looks at it; for any other change its cursor stays untouched.
 */
export async function upsertDags(db: Db, rows: readonly DagRow[]): Promise<void> {
  await db.query(
    `insert into app.dag as d (dag_id, file, timetable, timetable_hash, start_at, end_at, catchup, max_active_runs,
                               shard, owner, tags, description, max_failed_runs, tenant, class, next_due_at)
     select r.*, app.now()
       from jsonb_to_recordset($1::jsonb) as r (
              dag_id text, file text, timetable jsonb, timetable_hash text, start_at timestamptz, end_at timestamptz,
              catchup boolean, max_active_runs integer, shard integer, owner text, tags text[], description text,
              max_failed_runs integer, tenant text, class smallint)
      order by r.dag_id
     on conflict (dag_id) do update set
       file = excluded.file, active = true, timetable = excluded.timetable,
       timetable_hash = excluded.timetable_hash, start_at = excluded.start_at, end_at = excluded.end_at,
       catchup = excluded.catchup, max_active_runs = excluded.max_active_runs, shard = excluded.shard,
       owner = excluded.owner, tags = excluded.tags, description = excluded.description,
       max_failed_runs = excluded.max_failed_runs, tenant = excluded.tenant, class = excluded.class,
       switched_on_at = case when d.active then d.switched_on_at else app.now() end,
       next_due_at = case
         when d.active and d.timetable_hash = excluded.timetable_hash and d.catchup = excluded.catchup
              and d.start_at is not distinct from excluded.start_at
              and d.end_at is not distinct from excluded.end_at
         then d.next_due_at else app.now() end,
       updated_at = app.now()`,
    [JSON.stringify(rows)],
  );
}
