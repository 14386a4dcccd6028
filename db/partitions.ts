import type { Db } from "./connection.ts";

/** Makes the partitions of the coming months; idempotent. Without it, the big tables would refuse new runs. */
export async function ensurePartitions(db: Db): Promise<void> {
  await db.query("select app.ensure_partitions()");
}
