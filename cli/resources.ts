import { join, resolve } from "node:path";
import type { Client } from "@temporalio/client";
import type pg from "pg";
import { Refused } from "../core/errors.ts";
import { checkSchema } from "../db/migrate.ts";
import type { Config } from "../platform/config.ts";
import type { Life } from "../platform/life.ts";
import type { Log } from "../platform/log.ts";
import { createLocalLogStore } from "../platform/logs/local.ts";
import type { LogStore } from "../platform/logs/store.ts";
import { checkDatabase, createPool } from "../platform/pg.ts";
import { connectClient } from "../platform/temporal.ts";
import { startCall } from "./call.ts";

/** No statement of ours takes long, but for migrations: those wait as long as they must. */
const QUERY_TIMEOUT_MS = 60_000;

/** What each process of Meridian is built from; all of it ends with `life`. */
export async function openPool(
  config: Config,
  life: Life,
  log: Log,
  name: string,
  queryTimeoutMs: number | null = QUERY_TIMEOUT_MS,
): Promise<pg.Pool> {
  const url = config.databaseUrl;
  if (url === undefined) {
    throw new Refused(
      "no_database_url",
      `DATABASE_URL is not set: name the PostgreSQL database of Meridian, or use \`${startCall()}\`, which brings its own`,
    );
  }
  const pool = createPool(
    {
      url,
      max: config.databaseConnections,
      applicationName: `meridian-${name}`,
      ...(queryTimeoutMs === null ? {} : { queryTimeoutMs }),
    },
    (error) => log.warn({ err: error }, "a database connection broke"),
  );
  life.onEnd("database connections", async () => await pool.end());
  await checkDatabase(pool, url);
  return pool;
}

/** The replica that the grid is read from. It may be away or behind: then its readers are told so, and nobody else. */
export function openReader(config: Config, life: Life, log: Log, url: string): pg.Pool {
  const reader = createPool(
    { url, max: config.databaseConnections, applicationName: "meridian-reader" },
    (error) => log.warn({ err: error }, "a connection to the replica broke"),
  );
  life.onEnd("replica connections", async () => await reader.end());
  return reader;
}

/** As `openPool`, and refuses a schema that newer code has made. */
export async function openCheckedPool(config: Config, life: Life, log: Log, name: string): Promise<pg.Pool> {
  const pool = await openPool(config, life, log, name);
  await checkSchema(pool);
  return pool;
}

/** At once what is missing, not one after the other. */
export function checkAddresses(config: Config): void {
  if (config.databaseUrl !== undefined || config.temporalAddress !== undefined) return;
  throw new Refused(
    "no_addresses",
    `DATABASE_URL and TEMPORAL_ADDRESS are not set: name the PostgreSQL database of Meridian and the Temporal server (host:port), or use \`${startCall()}\`, which brings its own`,
  );
}

export function temporalAddress(config: Config): string {
  if (config.temporalAddress !== undefined) return config.temporalAddress;
  throw new Refused(
    "no_temporal_address",
    `TEMPORAL_ADDRESS is not set: name the Temporal server (host:port), or use \`${startCall()}\`, which brings its own`,
  );
}

export async function openTemporal(config: Config, life: Life): Promise<Client> {
  const client = await connectClient(config, temporalAddress(config));
  life.onEnd("Temporal connection", async () => await client.connection.close());
  return client;
}

export function openLogs(config: Config, life: Life): LogStore {
  const logs = createLocalLogStore({ folder: join(resolve(config.home), "logs") });
  life.onEnd("logs", async () => await logs.flush());
  return logs;
}
