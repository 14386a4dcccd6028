import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PoolWork, RunDetail, TryList } from "../../api/contracts.ts";
import { beatWorker, endWorker } from "../../db/workers.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDag, insertLease, insertRun, insertTry } from "./rows.ts";
import { serialTask } from "../support/serial.ts";
import { get, testApp, type TestApp } from "./support.ts";

let database: TestDatabase;
let app: TestApp;
let run: number;
let n = 0;

const NO_WORKER =
  'no worker serves queue "gpu"; start one with MERIDIAN_QUEUES=gpu; the try keeps its slots until then';

beforeAll(async () => {
  database = await createTestDatabase("not_begun", 3);
  app = testApp({ db: database.pool });
  await insertDag(database.pool, "faces", { tasks: [{ ...serialTask("train"), queue: "gpu" }] });
});
beforeEach(async () => {
  await database.pool.query("delete from app.worker");
  await database.pool.query("delete from app.lease");
  n += 1;
  run = await insertRun(database.pool, "faces", `2026-05-${10 + n}T00:00:00Z`, { state: "running" });
  await insertLease(database.pool, run, "train", "pool:default_pool", 1, { granted: true });
  await database.pool.query("update app.lease set granted_at = app.now() - interval '7 seconds'");
});
afterAll(() => database.drop());

const path = (): string => `/dags/faces/runs/2026-05-${10 + n}T00-00-00Z`;
const reasons = async (): Promise<(string | null)[]> =>
  (await get(app, path(), RunDetail)).waiting.map(({ reason }) => reason);

test("F16: a granted try whose queue no worker serves waits with that reason, since its grant, wherever it is read", async () => {
  await beatWorker(database.pool, "a:1", [{ queue: "default", tries: 0, max_tries: 500 }]);
  const { waiting } = await get(app, path(), RunDetail);
  expect(waiting).toMatchObject([{ taskId: "train", try: 1, pool: "default_pool", reason: NO_WORKER }]);
  expect(Date.now() - Date.parse(waiting[0]!.since)).toBeGreaterThan(5_000);
  expect((await get(app, `${path()}/tasks/train/tries`, TryList)).waiting).toMatchObject({
    reason: NO_WORKER,
  });
  const work = await get(app, "/pools/default_pool/work", PoolWork);
  expect(work.waiting).toEqual([]);
  expect(work.holding).toMatchObject([{ taskId: "train", reason: NO_WORKER }]);
});

test("F16: the reason is gone once a worker serves the queue and takes the try", async () => {
  await beatWorker(database.pool, "a:1", [{ queue: "default", tries: 0, max_tries: 500 }]);
  expect(await reasons()).toEqual([NO_WORKER]);
  await beatWorker(database.pool, "b:1", [{ queue: "gpu", tries: 0, max_tries: 2 }]);
  expect(await reasons()).toEqual([
    'it has its slots, and a worker of queue "gpu" has room: its run or Temporal is behind',
  ]);
  await insertTry(database.pool, run, "train", 1, "running");
  expect(await reasons()).toEqual([]);
  expect((await get(app, "/pools/default_pool/work", PoolWork)).holding).toMatchObject([{ reason: null }]);
});

test("F16: with all workers of its queue full, a try says so, and how full", async () => {
  await beatWorker(database.pool, "a:1", [
    { queue: "default", tries: 0, max_tries: 2 },
    { queue: "gpu", tries: 2, max_tries: 2 },
  ]);
  const more = "tries under way (MERIDIAN_MAX_TRIES); start another with MERIDIAN_QUEUES=gpu";
  expect(await reasons()).toEqual([`the only worker of queue "gpu" is busy: 2 of 2 ${more}`]);
  await beatWorker(database.pool, "b:1", [{ queue: "gpu", tries: 3, max_tries: 3 }]);
  expect(await reasons()).toEqual([`all 2 workers of queue "gpu" are busy: 5 of 5 ${more}`]);
});

test("F16: a worker that fell silent, or left, serves nothing", async () => {
  await beatWorker(database.pool, "a:1", [{ queue: "default", tries: 0, max_tries: 2 }]);
  await beatWorker(database.pool, "b:1", [{ queue: "gpu", tries: 0, max_tries: 2 }]);
  await database.pool.query(
    "update app.worker set seen_at = seen_at - interval '16 seconds' where worker = 'b:1'",
  );
  expect(await reasons()).toEqual([NO_WORKER]);
  await beatWorker(database.pool, "b:1", [{ queue: "gpu", tries: 0, max_tries: 2 }]);
  expect(await reasons()).not.toEqual([NO_WORKER]);
  await endWorker(database.pool, "b:1", ["gpu"]);
  expect(await reasons()).toEqual([NO_WORKER]);
});

test("F16: without a worker of the default queue nothing moves runs on, and that is the reason", async () => {
  await beatWorker(database.pool, "b:1", [{ queue: "gpu", tries: 0, max_tries: 2 }]);
  expect(await reasons()).toEqual([
    'no worker serves queue "default"; start one with MERIDIAN_QUEUES=default: its workers also move runs on',
  ]);
});

test("F16: a try that was granted a moment ago is not said to wait", async () => {
  await database.pool.query("update app.lease set granted_at = app.now() - interval '3 seconds'");
  expect(await reasons()).toEqual([]);
});
