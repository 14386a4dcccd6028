import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, migrations } from "../../db/migrate.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { dumpSchema } from "./schema-dump.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase("schema");
});
afterAll(async () => await database.drop());

describe("C7 C12: the schema", () => {
  it("db/schema.sql is what the migrations make (`npm run schema` writes it)", async () => {
    await expect(await dumpSchema(database.pool)).toMatchFileSnapshot("../../db/schema.sql");
  });

  it("the dump shows a column, an index and a changed function", async () => {
    const client = await database.pool.connect();
    try {
      await client.query("begin");
      const before = await dumpSchema(client);
      await client.query("alter table app.dag add column added integer not null default 7");
      await client.query("create index added on app.dag (added) where added > 1");
      await client.query(
        "create or replace function app.now() returns timestamptz language sql as 'select now()'",
      );
      const after = await dumpSchema(client);
      expect(before).not.toContain("added");
      expect(after).toContain("  added integer not null default 7");
      expect(after).toContain("CREATE INDEX added ON app.dag USING btree (added) WHERE (added > 1);");
      expect(after).toContain("select now()");
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  it("migrations are numbered from 1 without a gap, and a second migrate does nothing", async () => {
    expect(migrations().map((one) => one.number)).toEqual(migrations().map((_, i) => i + 1));
    expect(await migrate(database.pool)).toEqual([]);
  });

  it("B6: several that migrate a new database at once make one schema", async () => {
    const client = await database.pool.connect();
    try {
      await client.query("drop schema app cascade");
    } finally {
      client.release();
    }
    const answers = await Promise.all(Array.from({ length: 5 }, async () => await migrate(database.pool)));
    expect(answers.filter((numbers) => numbers.length > 0)).toHaveLength(1);
    await expect(await dumpSchema(database.pool)).toMatchFileSnapshot("../../db/schema.sql");
  });

  it("C12: a database made with another form of a migration is refused, with what to do", async () => {
    const { pool } = database;
    await pool.query("update app.schema_migration set hash = 'of before' where number = 2");
    await expect(migrate(pool)).rejects.toMatchObject({
      code: "other_schema",
      message: expect.stringMatching(/another form of migration 2 \(run_path\).*npm run reset/s),
    });
    await pool.query("update app.schema_migration set hash = $1 where number = 2", [migrations()[1]!.hash]);
    expect(await migrate(pool)).toEqual([]);
  });

  it("C12: a database that newer code has migrated is refused, with what to do", async () => {
    await database.pool.query("insert into app.schema_migration (number, name) values (9999, 'of_tomorrow')");
    await expect(migrate(database.pool)).rejects.toMatchObject({
      code: "newer_schema",
      message: expect.stringContaining("is at version 9999"),
    });
  });
});
