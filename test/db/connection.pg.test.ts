import { afterAll, beforeAll, expect, test } from "vitest";
import { isAway, transaction } from "../../db/connection.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase("connection");
});
afterAll(() => database.drop());

test("a connection that breaks between two statements of a transaction fails it, and ends no process", async () => {
  const { pool } = database;
  const broken = transaction(pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const ended = new Promise((resolve) => client.once("end", resolve));
    await pool.query("select pg_terminate_backend($1)", [rows[0]!.pid]);
    await ended;
    await client.query("select 1");
  });
  await expect(broken).rejects.toSatisfy(isAway);
  // Its place in the pool is free again.
  const all = Array.from(
    { length: 20 },
    async () => await transaction(pool, async (c) => await c.query("select 1")),
  );
  expect(await Promise.all(all)).toHaveLength(20);
});
