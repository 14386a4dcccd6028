import pg from "pg";
import { Refused } from "../core/errors.ts";

// bigint: run numbers and counts stay below 2^53 (db/migrations/0001_first.sql).
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export interface PoolOptions {
  readonly url: string;
  /** Connections at the most. */
  readonly max: number;
  readonly applicationName: string;
  /** A query without an answer for so long fails, its connection is given up, and who can repeats it. Default: none. */
  readonly queryTimeoutMs?: number;
}

/** A pool of connections; works behind a transaction pooler (no session state, no prepared names). */
export function createPool(options: PoolOptions, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    // A connection whose other end is gone without a word (a failover, a firewall) must not hold up what waits for it.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(options.queryTimeoutMs === undefined ? {} : { query_timeout: options.queryTimeoutMs }),
  });
  // An idle connection that breaks (a restarted database) must not end the process; the next query reconnects.
  pool.on("error", onError);
  return pool;
}

/** One clear line when the database does not answer. */
export async function checkDatabase(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query("select 1");
  } catch (cause) {
    const { hostname, port, pathname } = new URL(url);
    throw new Refused(
      "no_database",
      `cannot use PostgreSQL at ${hostname}:${port || 5432}${pathname}: ${(cause as Error).message}; check DATABASE_URL and that the server runs`,
      { cause },
    );
  }
}
