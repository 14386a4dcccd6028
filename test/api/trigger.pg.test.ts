import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { RunDetail, RunList, TriggeredRun } from "../../api/contracts.ts";
import { createClient } from "../../client/client.ts";
import { RunStarter, type StarterDeps } from "../../client/starter.ts";
import { Retryable } from "../../core/errors.ts";
import { insertDag, insertRun } from "./rows.ts";
import { fakeClient, get, post, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let fake: ReturnType<typeof fakeClient>;
let app: TestApp;
const RUNS = "/dags/sales/runs";
const keyed = (key: string, body: unknown = {}, path = RUNS) =>
  post(app, path, body, { "Idempotency-Key": key });

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  await insertDag(database.pool, "sales");
});
beforeEach(() => {
  fake = fakeClient(["sales", "stock"]);
  app = testApp({ db: database.pool, client: fake.client });
});
afterAll(() => database.drop());

test("201 with the run, the conf and the caller passed on", async () => {
  const response = await post(app, RUNS, { logicalDate: "2026-05-09T02:00:00+02:00", conf: { a: 1 } });
  expect(response.status).toBe(201);
  const body = TriggeredRun.parse(await response.json());
  expect(body.temporalUrl).toMatch(/run\.sales\.2026-05-09T00-00-00Z$/);
  const request = {
    dagId: "sales",
    logicalAt: Date.parse("2026-05-09"),
    conf: { a: 1 },
    who: "anonymous@api",
  };
  expect(fake.calls).toEqual([["trigger", request]]);
});

test("without a body, now", async () => {
  expect((await post(app, RUNS)).status).toBe(201);
  expect(fake.calls[0]?.[1]).toMatchObject({ logicalAt: null, conf: {} });
});

test("K71: 20 at once with one date: one 201, nineteen 409 with the run's id", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post(app, RUNS, { logicalDate: "2026-05-09T00:00:00Z" })),
  );
  expect(answers.filter((a) => a.status === 201)).toHaveLength(1);
  for (const answer of answers.filter((a) => a.status !== 201)) {
    expect((await problemOf(answer, 409)).details).toEqual({ runId: "2026-05-09T00-00-00Z" });
  }
});

test("K71: with the real ledger, 20 at once make one row and start one workflow", async () => {
  const { pool } = database;
  await insertDag(pool, "ledger");
  await pool.query("insert into app.account (key, slots) values ('runs:ledger', 16)");
  const started: unknown[] = [];
  const start = async (...args: unknown[]) => started.push(args);
  const withDeadline = async (_deadline: number, call: () => Promise<unknown>) => await call();
  const temporal = { workflow: { start }, withDeadline } as unknown as StarterDeps["temporal"];
  const onError = (error: Error) => void errors.push(error);
  const errors: Error[] = [];
  const starter = new RunStarter({
    pool,
    temporal,
    taskQueue: "q",
    lostAfterMs: 15_000,
    eager: false,
    onError,
  });
  const client = createClient({ pool, starter, clock: () => Date.now() });
  const real = testApp({ db: pool, client });
  const ask = () => post(real, "/dags/ledger/runs", { logicalDate: "2026-05-09T00:00:00Z", conf: { a: 1 } });
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  expect(answers.filter((a) => a.status === 201)).toHaveLength(1);
  for (const answer of answers.filter((a) => a.status !== 201)) {
    expect((await problemOf(answer, 409)).details).toEqual({ runId: "2026-05-09T00-00-00Z" });
  }
  expect(started).toHaveLength(1);
  const run = await get(real, "/dags/ledger/runs/2026-05-09T00-00-00Z", RunDetail);
  expect(run).toMatchObject({ runType: "manual", triggeredBy: "anonymous@api", conf: { a: 1 } });
  expect((await get(real, "/dags/ledger/runs", RunList)).runs).toHaveLength(1);
});

describe("Idempotency-Key", () => {
  test("the same key gets the same answer, and the run is made once", async () => {
    const first = await keyed("k1");
    const again = await keyed("k1");
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(await again.json()).toEqual(await first.json());
    expect([first.headers.get("Idempotency-Replayed"), again.headers.get("Idempotency-Replayed")]).toEqual([
      null,
      "true",
    ]);
    expect(again.headers.get("Content-Type")).toMatch(/^application\/json/);
    expect(fake.calls).toHaveLength(1);
  });

  test("20 at once: one run, and the others are told to ask again", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed("k2")));
    expect(answers.filter((a) => a.status === 201).length).toBeGreaterThan(0);
    for (const answer of answers.filter((a) => a.status !== 201)) {
      expect((await problemOf(answer, 409)).code).toBe("in_progress");
    }
    expect(fake.calls).toHaveLength(1);
  });

  test("a refusal is an answer too", async () => {
    const date = { logicalDate: "2026-05-01T00:00:00Z" };
    await post(app, RUNS, date);
    const first = await problemOf(await keyed("k3", date), 409);
    expect(await problemOf(await keyed("k3", date), 409)).toEqual(first);
    expect(fake.calls).toHaveLength(2);
  });

  test("another request with the key is a conflict", async () => {
    await keyed("k4", { conf: { a: 1 } });
    for (const other of [
      keyed("k4", { conf: { a: 2 } }),
      keyed("k4", { conf: { a: 1 } }, "/dags/stock/runs"),
    ]) {
      expect((await problemOf(await other, 409)).code).toBe("key_reused");
    }
  });

  test("an answer that says try again is not kept", async () => {
    const { client } = fake;
    let fail = true;
    const trigger: typeof client.trigger = (request) =>
      fail ? Promise.reject(new Retryable("temporal_away", "later")) : client.trigger(request);
    app = testApp({ db: database.pool, client: { ...client, trigger } });
    expect((await keyed("k5")).status).toBe(503);
    fail = false;
    expect((await keyed("k5")).status).toBe(201);
  });

  test("a holder that died after making the run: the next one answers with that run", async () => {
    await keyed("k6");
    const taken = fake.calls[0]?.[1] as { logicalAt: number };
    await insertRun(database.pool, "sales", new Date(taken.logicalAt).toISOString(), { state: "running" });
    // As if nothing had been answered, a minute ago.
    await database.pool.query(
      `update app.idempotency set answer = jsonb_build_object('fingerprint', answer->'fingerprint', 'takenAt', 0)
       where key = 'anonymous@api k6'`,
    );
    const again = await keyed("k6");
    expect(again.status).toBe(201);
    expect(TriggeredRun.parse(await again.json())).toMatchObject({ state: "running" });
    expect(fake.taken.size).toBe(1);
    expect((await keyed("k6")).headers.get("Idempotency-Replayed")).toBe("true");
  });

  test("a fresh key whose moment is taken gets another moment", async () => {
    const { client } = fake;
    let first = true;
    const trigger: typeof client.trigger = async (request) => {
      if (first) await client.trigger(request);
      first = false;
      return client.trigger(request);
    };
    app = testApp({ db: database.pool, client: { ...client, trigger } });
    expect((await keyed("k7")).status).toBe(201);
    expect(fake.calls.at(-1)?.[1]).toMatchObject({ logicalAt: null });
  });

  test.each(["", "a b", "ü", "x".repeat(201)])("key %j is refused", async (key) => {
    expect((await problemOf(await keyed(encodeURI(key) === key ? key : "a b"), 400)).code).toBe("bad_key");
  });

  test("answers without a body are kept as well", async () => {
    await post(app, "/pools/k8", { slots: 1 });
    const remove = () =>
      app.request("/api/v1/pools/k8", { method: "DELETE", headers: { "Idempotency-Key": "k8" } });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 204]);
    expect((await app.request("/api/v1/pools/k8", { method: "DELETE" })).status).toBe(404);
  });
});
