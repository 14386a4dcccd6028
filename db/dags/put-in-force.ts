import type { Db } from "../connection.ts";

/** New runs of these DAGs take the version of this hash, be it new or an older one that came back. */
export async function putInForce(
  db: Db,
  rows: readonly { readonly dag_id: string; readonly hash: string }[],
): Promise<void> {
  await db.query(
    `update app.dag d set version = v.version, version_before = d.version, version_since = app.now()
       from unnest($1::text[], $2::text[]) as r (dag_id, hash)
       join app.dag_version v on v.dag_id = r.dag_id and v.hash = r.hash
      where d.dag_id = r.dag_id and d.version is distinct from v.version`,
    [rows.map((row) => row.dag_id), rows.map((row) => row.hash)],
  );
}
