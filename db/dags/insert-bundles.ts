import type { Db } from "../connection.ts";
import type { BundleRow } from "./types.ts";

/** Code by hash. Comments move lines without changing the code: then only the map is replaced. */
export async function insertBundles(db: Db, rows: readonly BundleRow[]): Promise<void> {
  await db.query(
    `insert into app.bundle (hash, code, source_map)
     select distinct on (hash) *
       from unnest($1::text[], $2::text[], $3::text[]) as r (hash, code, source_map)
      where not exists (select from app.bundle b where b.hash = r.hash and b.source_map = r.source_map)
      order by hash
     on conflict (hash) do update set source_map = excluded.source_map, sources_at = app.now()`,
    [rows.map((row) => row.hash), rows.map((row) => row.code), rows.map((row) => row.source_map)],
  );
}
