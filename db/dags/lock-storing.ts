import type { Db } from "../connection.ts";

/**
 * Until the transaction ends nobody else stores DAGs. One lock for all: which file owns an id is a question over
 * all files, processors are few, and a batch of 20 files holds it for some ten milliseconds.
 */
export async function lockStoring(db: Db): Promise<void> {
  await db.query("select pg_advisory_xact_lock(72, 3)");
}
