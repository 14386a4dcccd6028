import type { Db } from "../connection.ts";
import type { VersionRow } from "./types.ts";

/** Versions by (DAG, hash), numbered on within the DAG; one that existed before is left. The DAGs must be locked. */
export async function insertVersions(db: Db, rows: readonly VersionRow[]): Promise<void> {
  await db.query(
    `insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, lock_hash, file)
     select r.dag_id,
            (select coalesce(max(v.number), 0) + 1 from app.dag_version v where v.dag_id = r.dag_id),
            r.hash, r.graph, r.bundle_hash, r.lock_hash, r.file
       from jsonb_to_recordset($1::jsonb) as r (
              dag_id text, hash text, graph jsonb, bundle_hash text, lock_hash text, file text)
      where not exists (select from app.dag_version v where v.dag_id = r.dag_id and v.hash = r.hash)
      order by r.dag_id`,
    [JSON.stringify(rows)],
  );
}
