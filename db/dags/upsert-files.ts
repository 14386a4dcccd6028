import type { Db } from "../connection.ts";
import type { FileFound } from "./types.ts";

/**
 * What was found in each file. The same as before writes nothing, be it found by a retry or by another processor; but a
 * file that was changed and has its error still says when it was looked at.
 */
export async function upsertFiles(db: Db, rows: readonly FileFound[]): Promise<void> {
  await db.query(
    `insert into app.dag_file as f (path, checked_at, stored_at, duration_ms, queue_ms, content_hash, error, dag_ids)
     select r.path, app.now(), case when r.stored then app.now() end, r.duration_ms, r.queue_ms, r.content_hash,
            nullif(r.error, 'null'), r.dag_ids
       from jsonb_to_recordset($1::jsonb) as r (
              path text, imported boolean, stored boolean, duration_ms integer, queue_ms integer, content_hash text,
              error jsonb, dag_ids text[])
      where (r.imported and r.queue_ms is not null and r.content_hash is null)
         or not exists (
              select from app.dag_file o
               where o.path = r.path and o.dag_ids = r.dag_ids
                 and o.content_hash is not distinct from r.content_hash
                 and o.error is not distinct from nullif(r.error, 'null'))
      order by r.path
     on conflict (path) do update set
       checked_at = case when (select imported from jsonb_to_recordset($1::jsonb) as i (path text, imported boolean)
                                where i.path = f.path) then excluded.checked_at else f.checked_at end,
       stored_at = coalesce(excluded.stored_at, f.stored_at), duration_ms = excluded.duration_ms,
       queue_ms = excluded.queue_ms, content_hash = excluded.content_hash, error = excluded.error,
       dag_ids = excluded.dag_ids`,
    [JSON.stringify(rows)],
  );
}
