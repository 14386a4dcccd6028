import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { Refused } from "../core/errors.ts";
import { transaction } from "./connection.ts";

const FOLDER = fileURLToPath(new URL("./migrations/", import.meta.url));

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  /** Of its text. */
  readonly hash: string;
}

/** The numbered files of `db/migrations/`, in order. */
export function migrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(FOLDER + file, "utf8");
      const hash = createHash("sha256").update(sql).digest("hex");
      return { number: Number(file.slice(0, 4)), name: file.slice(5, -4), sql, hash };
    });
}

export const SCHEMA_VERSION = migrations().at(-1)!.number;

/**
 * Brings the schema up to `SCHEMA_VERSION`; forward only, safe when several processes start at once.
 * Returns the numbers applied. Throws Refused (`newer_schema`) when the database is ahead of this code.
 */
export async function migrate(pool: pg.Pool): Promise<readonly number[]> {
  return await transaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock(72, 0)");
    await client.query("create schema if not exists app");
    await client.query(
      "create table if not exists app.schema_migration (number integer primary key, name text not null, at timestamptz not null default now())",
    );
    await client.query("alter table app.schema_migration add column if not exists hash text");
    const { rows } = await client.query<{ number: number; hash: string | null }>(
      "select number, hash from app.schema_migration",
    );
    const done = new Map(rows.map((row) => [row.number, row.hash]));
    refuseNewer(Math.max(0, ...done.keys()));
    const applied: number[] = [];
    for (const m of migrations()) {
      if (done.has(m.number)) {
        refuseOther(m, done.get(m.number)!);
        continue;
      }
      await client.query(m.sql);
      await client.query("insert into app.schema_migration (number, name, hash) values ($1, $2, $3)", [
        m.number,
        m.name,
        m.hash,
      ]);
      applied.push(m.number);
    }
    await client.query("select app.ensure_partitions()");
    return applied;
  });
}

/** Refuses to run on a database that newer code has migrated. */
export async function checkSchema(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ number: number | null }>(
    "select max(number) as number from app.schema_migration",
  );
  refuseNewer(rows[0]?.number ?? 0);
}

/** Before the first release migrations still change in place. */
function refuseOther({ number, name, hash }: Migration, applied: string | null): void {
  if (applied === hash) return;
  throw new Refused(
    "other_schema",
    `the database was made with another form of migration ${number} (${name}): nothing here leads from that to this one. Empty the data folder (npm run reset), or start the Meridian that made it`,
  );
}

function refuseNewer(found: number): void {
  if (found <= SCHEMA_VERSION) return;
  throw new Refused(
    "newer_schema",
    `the database schema is at version ${found}, this Meridian knows up to ${SCHEMA_VERSION}: start the newer Meridian, or restore a backup from before its migration`,
  );
}
