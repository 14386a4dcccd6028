import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Pool, PoolList } from "../../api/contracts.ts";
import { insertDag, insertLease, insertRun } from "./rows.ts";
import { get, post, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;
let run: number;

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  app = testApp({ db: database.pool });
  await insertDag(database.pool, "sales");
  run = await insertRun(database.pool, "sales", "2026-05-09T00:00:00Z", { state: "running" });
});
beforeEach(async () => {
  await database.pool.query(
    "delete from app.lease; delete from app.audit; delete from app.account where key <> 'pool:default_pool'",
  );
});
afterAll(() => database.drop());

const pools = async () => (await get(app, "/pools", PoolList)).pools;
const set = async (name: string, body: unknown, status = 200): Promise<Pool> => {
  const response = await post(app, `/pools/${name}`, body);
  expect(response.status).toBe(status);
  return Pool.parse(await response.json());
};
const remove = (name: string) => app.request(`/api/v1/pools/${name}`, { method: "DELETE" });
const audit = async () =>
  (
    await database.pool.query<{ who: string; action: string; detail: unknown }>(
      "select who, action, detail from app.audit order by id",
    )
  ).rows;

test("made, resized and deleted, each with its audit row", async () => {
  expect(await set("etl", { slots: 4, description: "Loads" }, 201)).toEqual({
    name: "etl",
    exists: true,
    description: "Loads",
    slots: 4,
    used: 0,
    free: 4,
    waiting: 0,
    waitingSlots: 0,
    longestWaitMs: null,
    p95WaitMs: null,
    arrivalsPerMinute: 0,
    grantsPerMinute: 0,
    classes: [],
    scheduledFloor: 0,
    preempted: 0,
    impossible: [],
  });
  expect(await set("etl", { slots: 0 })).toMatchObject({ slots: 0, description: "Loads" });
  expect((await remove("etl")).status).toBe(204);
  expect((await pools()).map((p) => p.name)).toEqual(["default_pool"]);
  expect(await audit()).toEqual([
    { who: "anonymous@api", action: "set_pool", detail: { account: "pool:etl", slots: 4, before: null } },
    { who: "anonymous@api", action: "set_pool", detail: { account: "pool:etl", slots: 0, before: 4 } },
    { who: "anonymous@api", action: "delete_pool", detail: { account: "pool:etl", before: 0 } },
  ]);
});

test("use and waiting; K48: a pool shrunk under its work never shows free slots below 0", async () => {
  await set("etl", { slots: 4 }, 201);
  await insertLease(database.pool, run, "a", "pool:etl", 3, { granted: true });
  await insertLease(database.pool, run, "b", "pool:etl", 2);
  await insertLease(database.pool, run, "c", "pool:etl", 1);
  await insertLease(database.pool, run, "", "runs:sales", 1, { granted: true });
  expect((await pools())[1]).toMatchObject({
    name: "etl",
    slots: 4,
    used: 3,
    free: 1,
    waiting: 2,
    waitingSlots: 3,
    impossible: [],
  });
  expect(await set("etl", { slots: 2 })).toMatchObject({ slots: 2, used: 3, free: 0, waiting: 2 });
});

test("K45: a task bigger than its pool says it can never run; after a resize it is granted", async () => {
  await set("etl", { slots: 2 }, 201);
  await insertLease(database.pool, run, "big", "pool:etl", 4);
  expect((await pools())[1]!.impossible).toEqual([
    {
      dagId: "sales",
      runId: "2026-05-09T00-00-00Z",
      taskId: "big",
      mapIndex: -1,
      needs: 4,
      reason: 'can never run: needs 4, pool "etl" has 2',
    },
  ]);
  expect(await set("etl", { slots: 3 })).toMatchObject({ used: 0, waiting: 1, impossible: [{ needs: 4 }] });
  expect(await set("etl", { slots: 4 })).toMatchObject({ used: 4, free: 0, waiting: 0, impossible: [] });
});

test("K48: a pool that tasks name and nobody has made", async () => {
  await insertLease(database.pool, run, "a", "pool:ghost", 1);
  expect((await pools())[1]).toMatchObject({
    name: "ghost",
    exists: false,
    slots: 0,
    free: 0,
    waiting: 1,
    impossible: [{ taskId: "a", reason: 'can never run: pool "ghost" does not exist' }],
  });
  expect((await problemOf(await remove("ghost"), 404)).code).toBe("no_pool");
  expect(await set("ghost", { slots: 1 }, 201)).toMatchObject({ exists: true, used: 1, waiting: 0 });
});

test("K48: the default pool is never deleted", async () => {
  const problem = await problemOf(await remove("default_pool"), 400);
  expect(problem.code).toBe("default_pool");
  expect((await pools())[0]).toMatchObject({ name: "default_pool", slots: 128 });
});

test.each([true, false])(
  "K48: a pool with work (granted: %s) is not deleted, and the work is named",
  async (granted) => {
    await set("etl", { slots: 4 }, 201);
    await insertLease(database.pool, run, "load", "pool:etl", 3, { granted });
    const problem = await problemOf(await remove("etl"), 409);
    expect(problem.code).toBe("pool_in_use");
    expect(problem.detail).toContain("sales 2026-05-09T00-00-00Z load");
    expect(problem.details["work"]).toEqual([
      { dagId: "sales", runId: "2026-05-09T00-00-00Z", taskId: "load", mapIndex: -1, slots: 3, granted },
    ]);
    expect((await pools()).map((p) => p.name)).toEqual(["default_pool", "etl"]);
    expect(await audit()).toHaveLength(1);
  },
);

test("a pool that is not there", async () => {
  expect((await problemOf(await remove("nothing"), 404)).code).toBe("no_pool");
});
