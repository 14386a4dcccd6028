import type { Db } from "../connection.ts";

/** No further run is created; runs under way end with their version, history stays. Answers those that were active. */
export async function deactivateDags(db: Db, dagIds: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ dag_id: string }>(
    `update app.dag set active = false, updated_at = app.now()
      where dag_id = any ($1) and active
     returning dag_id`,
    [dagIds],
  );
  return rows.map((row) => row.dag_id);
}
