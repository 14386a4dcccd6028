import type { Db } from "../connection.ts";

/**
 * What a run's place and tries ask with is so much more (or less) from now on, and what waits now moves with it. Answers
 * how many requests moved; null: the run is over. A pass of the allocator is wanted behind it.
 */
export async function setRunPriority(
  db: Db,
  run: number,
  priority: number,
  who: string,
): Promise<number | null> {
  const { rows } = await db.query<{ moved: number | null }>(
    "select app.set_run_priority($1, $2, $3) as moved",
    [run, priority, who],
  );
  return rows[0]!.moved;
}
