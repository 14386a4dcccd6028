import type { Db } from "../connection.ts";
import type { DagNow } from "./types.ts";

/** These DAGs, and those that any of these files defined last, with the hash of the version in force. */
export async function readDagsNow(
  db: Db,
  dagIds: readonly string[],
  files: readonly string[],
): Promise<DagNow[]> {
  const { rows } = await db.query<DagNow>(
    `select d.dag_id, d.file, d.active, v.hash
       from app.dag d left join app.dag_version v on v.version = d.version
      where d.dag_id = any ($1) or d.file = any ($2)`,
    [dagIds, files],
  );
  return rows;
}
