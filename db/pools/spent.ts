import type { Db } from "../connection.ts";

/** Adds up what tenants used, and marks those that have used up their core-hours of today. Safe with several callers. */
export async function rollSpent(db: Db): Promise<void> {
  await db.query("select app.roll_spent()");
}
