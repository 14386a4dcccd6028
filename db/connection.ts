import type pg from "pg";

export type Pool = pg.Pool;

/** What a statement needs: a pool, or a client inside a transaction. */
export type Db = Pick<pg.Pool, "query">;

/** Runs `body` in one transaction; any error rolls it back. */
export async function transaction<T>(pool: pg.Pool, body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failed: Error | undefined;
  // A connection that breaks between two statements says so as an event, and nobody hears those of a client that is
  // taken from its pool: unheard, it would end the process. The next statement fails.
  const lost = (error: Error): void => void (failed = error);
  client.on("error", lost);
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
    client.off("error", lost);
    client.release(failed);
  }
}

/** SQLSTATEs and socket errors that mean: the database is away, or too busy; the same may work later. */
const AWAY =
  /^(?:08|53|57P|40001|40P01|57014|55P03|25006|58030)|^(?:ECONN|EPIPE$|ETIMEDOUT$|ENOTFOUND$|ENOENT$|EHOSTUNREACH$|EHOSTDOWN$|ENETUNREACH$|ENETDOWN$|EAI_AGAIN$)/;
const AWAY_TEXT =
  /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool after|Query read timeout|connection error and is not queryable/;

export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return AWAY.test("code" in error ? String(error.code) : "") || AWAY_TEXT.test(error.message);
}
