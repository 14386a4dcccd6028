import type pg from "pg";

export type Pool = pg.Pool;

/** What a statement needs: a pool, or a client inside a transaction. */
export type Db = Pick<pg.Pool, "query">;

/** Runs `body` in one transaction; any error rolls it back. */
export async function transaction<T>(pool: pg.Pool, body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failed: Error | undefined;
  try {
    await client.query("begin");
    const result = await body(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((e: unknown) => {
      failed = e as Error;
    });
    throw error;
  } finally {
    client.release(failed);
  }
}
