import type { Db } from "../connection.ts";
import type { FileRow } from "./types.ts";

/** What was found in each file; a finding that is the same as before writes nothing. */
export async function upsertFiles(db: Db, rows: readonly FileRow[]): Promise<void> {
  await db.query(
    `insert into app.dag_file (path, checked_at, duration_ms, content_hash, error, dag_ids)
     select r.path, app.now(), r.duration_ms, r.content_hash, nullif(r.error, 'null'), r.dag_ids
       from jsonb_to_recordset($1::jsonb) as r (
              path text, duration_ms integer, content_hash text, error jsonb, dag_ids text[])
      where not exists (
              select from app.dag_file f
               where f.path = r.path and f.dag_ids = r.dag_ids
                 and f.content_hash is not distinct from r.content_hash
                 and f.error is not distinct from nullif(r.error, 'null'))
      order by r.path
     on conflict (path) do update set
       checked_at = excluded.checked_at, duration_ms = excluded.duration_ms,
       content_hash = excluded.content_hash, error = excluded.error, dag_ids = excluded.dag_ids`,
    [JSON.stringify(rows)],
  );
}
