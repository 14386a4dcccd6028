import type { Db } from "../connection.ts";

/** Looks how full pools are, once in 10 s over all callers; whether it was this one. */
export async function samplePools(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ sampled: boolean }>("select app.sample_pools() as sampled");
  return rows[0]!.sampled;
}
