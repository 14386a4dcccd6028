import type { Db } from "../connection.ts";

/** Forgets files that are gone. */
export async function deleteFiles(db: Db, paths: readonly string[]): Promise<void> {
  await db.query("delete from app.dag_file where path = any ($1)", [paths]);
}
