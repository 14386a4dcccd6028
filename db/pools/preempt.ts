import type { Db } from "../connection.ts";

export interface Preempted {
  /** Row address of its lease: who calls has the allocator's lock, so it holds still. */
  readonly id: string;
  /** For the owner of the try, in words. */
  readonly why: string;
}

/**
 * Asks tries to give their slots back: their workers hear of it within a second, stop the bodies and hand the tries back
 * as `requeued`, which uses no retry up; each owner is told by an alert. Who was asked already is not asked again.
 */
export async function preempt(db: Db, tries: readonly Preempted[]): Promise<number> {
  const { rows } = await db.query<{ asked: number }>("select app.preempt_tries($1) as asked", [
    JSON.stringify(tries),
  ]);
  return rows[0]!.asked;
}
