import { afterAll, beforeAll, expect, test } from "vitest";
import { PoolWork } from "../../api/contracts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDag, insertLease, insertRun } from "./rows.ts";
import { get, problemOf, testApp, type TestApp } from "./support.ts";

let database: TestDatabase;
let app: TestApp;
let run: number;

beforeAll(async () => {
  database = await createTestDatabase("pool_work", 3);
  app = testApp({ db: database.pool });
  await insertDag(database.pool, "sales");
  run = await insertRun(database.pool, "sales", "2026-05-09T00:00:00Z", { state: "running" });
});
afterAll(() => database.drop());

test("F16: who holds slots of a pool, and who waits for them, by turn and with the reason", async () => {
  const pool = "pool:default_pool";
  await insertLease(database.pool, run, "load", pool, 3, { granted: true });
  await insertLease(database.pool, run, "late", pool, 1, { reason: "all 128 slots are in use" });
  await insertLease(database.pool, run, "urgent", pool, 2);
  await insertLease(database.pool, run, "other", "pool:etl", 1, { granted: true });
  await database.pool.query("update app.lease set priority = 9 where task_id = 'urgent'");
  const { holding, waiting } = await get(app, "/pools/default_pool/work", PoolWork);
  expect(holding.map(({ taskId, slots, reason }) => [taskId, slots, reason])).toEqual([["load", 3, null]]);
  expect(waiting.map(({ taskId, slots, priority, reason }) => [taskId, slots, priority, reason])).toEqual([
    ["urgent", 2, 9, null],
    ["late", 1, 1, "all 128 slots are in use"],
  ]);
  expect(waiting[0]).toMatchObject({ dagId: "sales", runId: "2026-05-09T00-00-00Z", mapIndex: -1, try: 1 });
});

test("a pool nobody made has work all the same; one that is nowhere is not found", async () => {
  await insertLease(database.pool, run, "a", "pool:ghost", 1);
  expect((await get(app, "/pools/ghost/work", PoolWork)).waiting).toHaveLength(1);
  const problem = await problemOf(await app.request("/api/v1/pools/nowhere/work"), 404);
  expect(problem.code).toBe("no_pool");
});
