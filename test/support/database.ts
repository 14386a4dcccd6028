import { randomUUID } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { migrate } from "../../db/migrate.ts";
// For its parser of bigint, without which run numbers would be text.
import "../../platform/pg.ts";

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  readonly pool: pg.Pool;
  readonly drop: () => Promise<void>;
}

/** A database of its own on the test server, with our schema, and a pool on it. */
export async function createTestDatabase(prefix = "t", connections = 12): Promise<TestDatabase> {
  const name = `${prefix}_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const admin = new pg.Client({ connectionString: inject("databaseUrl") });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(inject("databaseUrl"));
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: connections });
  // The database may be dropped a moment before the last connection is closed.
  pool.on("error", () => {});
  await migrate(pool);
  return {
    name,
    url: url.href,
    pool,
    drop: async () => {
      await pool.end();
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}
