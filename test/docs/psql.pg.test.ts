import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, test } from "vitest";
import { createTestDatabase } from "../support/database.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

test("the documented address for psql finds the tables by their plain names", async () => {
  const text = readFileSync(join(ROOT, "docs/operators.md"), "utf8");
  const [, told = ""] = /psql "([^"]+)"/.exec(text) ?? [];
  const database = await createTestDatabase("psql", 2);
  // Of the documented one the part that matters: all behind the name of the database.
  const client = new pg.Client({ connectionString: `${database.url}?${told.split("?")[1]}` });
  await client.connect();
  try {
    const { rows } = await client.query("select to_regclass('dag_run')::text as found");
    expect(rows).toEqual([{ found: "dag_run" }]);
  } finally {
    await client.end();
    await database.drop();
  }
});
