import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { RunDetail, RunList, TriggeredRun } from "../../api/contracts.ts";
import { createClient } from "../../client/client.ts";
import { RunStarter, type StarterDeps } from "../../client/starter.ts";
import type { MeridianClient } from "../../client/types.ts";
import { Limited, Retryable } from "../../core/errors.ts";
import { parseRunId } from "../../core/ids.ts";
import { insertDag } from "./rows.ts";
import { fakeClient, get, post, problemOf, testApp, type TestApp } from "./support.ts";
import { applyLimits, limitsFile } from "../support/limits.ts";
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

/** A client with the real ledger and a Temporal that takes everything; `dagId` is made. */
async function realClient(dagId: string) {
  const { pool } = database;
  await insertDag(pool, dagId);
  await pool.query("insert into app.account (key, slots) values ('runs:' || $1, 16)", [dagId]);
  const started: unknown[] = [];
  const start = async (...args: unknown[]) => started.push(args);
  const withDeadline = async (_deadline: number, call: () => Promise<unknown>) => await call();
  const temporal = { workflow: { start }, withDeadline } as unknown as StarterDeps["temporal"];
  const errors: Error[] = [];
  const starter = new RunStarter({
    pool,
    temporal,
    taskQueue: "q",
    lostAfterMs: 15_000,
    turnOverEvents: 10_000,
    eager: false,
    onError: (error) => void errors.push(error),
  });
  return { client: createClient({ pool, starter, clock: () => Date.now() }), started };
}

test("K71: with the real ledger, 20 at once make one row and start one workflow", async () => {
  const { client, started } = await realClient("ledger");
  const real = testApp({ db: database.pool, client });
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

test("B15: 20 at once with a rate of 6: six runs, fourteen 429 with Retry-After and the numbers; keys of the six cost nothing", async () => {
  const { pool } = database;
  const { client } = await realClient("limited");
  const rates = [{ per: "dag", match: "limit*", triggers: 6, withinMs: 120_000 }] as const;
  await applyLimits(pool, limitsFile({ rates }));
  const real = testApp({ db: pool, client });
  const ask = async (n: number) =>
    await post(real, "/dags/limited/runs", {}, { "Idempotency-Key": `rate-${n}` });
  const answers = await Promise.all(Array.from({ length: 20 }, async (_, n) => await ask(n)));
  expect(answers.filter((a) => a.status === 201)).toHaveLength(6);
  for (const answer of answers.filter((a) => a.status !== 201)) {
    const problem = await problemOf(answer, 429);
    const { retryAfterMs } = problem.details as { retryAfterMs: number };
    expect(Number(answer.headers.get("Retry-After"))).toBe(Math.ceil(retryAfterMs / 1000));
    expect(problem).toMatchObject({
      code: "rate_limited",
      detail: expect.stringMatching(/^dag "limited" may have 6 triggers in 2 min, and had them: again in /),
      details: { per: "dag", name: "limited", triggers: 6, withinMs: 120_000 },
    });
  }
  const made = answers.findIndex((a) => a.status === 201);
  expect((await ask(made)).headers.get("Idempotency-Replayed")).toBe("true");
  expect((await get(real, "/dags/limited/runs", RunList)).runs).toHaveLength(6);
  await pool.query("truncate app.limits");
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

  test("B15: nor is one that says a limit stands against it: the repeat may be made", async () => {
    const { client } = fake;
    let full = true;
    const trigger: typeof client.trigger = (request) =>
      full ? Promise.reject(new Limited("rate_limited", "later", 4_200)) : client.trigger(request);
    app = testApp({ db: database.pool, client: { ...client, trigger } });
    const answer = await keyed("k6");
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "5"]);
    full = false;
    expect((await keyed("k6")).status).toBe(201);
  });

  test("what was done is answered though its keeping failed, and is kept later", async () => {
    const { pool } = database;
    let fails = 1;
    const query = async (text: string, values: unknown[]) => {
      if (text.startsWith("update app.idempotency") && fails-- > 0) throw new Error("terminated");
      return await pool.query(text, values);
    };
    app = testApp({ db: { query } as unknown as typeof pool, client: fake.client });
    expect((await keyed("k9")).status).toBe(201);
    expect((await problemOf(await keyed("k9"), 409)).code).toBe("in_progress");
    const replayed = async () => (await keyed("k9")).headers.get("Idempotency-Replayed");
    await expect.poll(replayed, { timeout: 5000 }).toBe("true");
    expect(fake.calls).toHaveLength(1);
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

describe("Idempotency-Key with the real ledger", () => {
  const PATH = "/dags/keyed/runs";
  let client: MeridianClient;
  beforeAll(async () => ({ client } = await realClient("keyed")));
  beforeEach(() => (app = testApp({ db: database.pool, client })));
  const runIdOf = async (answer: Promise<Response>) => TriggeredRun.parse(await (await answer).json()).runId;
  const runs = async () => (await get(app, PATH, RunList)).runs.map((run) => run.runId);
  /** As if the key had been seen first at `at`, and whoever held it had died without a word. */
  const heldBefore = async (key: string, at: string) => {
    await database.pool.query(
      `insert into app.idempotency (key, at, answer)
       select 'anonymous@api ' || $1, $2, jsonb_build_object('takenAt', 0, 'fingerprint', i.answer->'fingerprint')
       from app.idempotency i where i.key = 'anonymous@api r1'
       on conflict (key) do update set answer = excluded.answer`,
      [key, at],
    );
  };

  test("a holder that died after making the run: the next one answers with that run", async () => {
    const made = await runIdOf(keyed("r1", {}, PATH));
    await heldBefore("r1", "2026-05-09T10:00:00Z");
    const again = await keyed("r1", {}, PATH);
    expect(again.headers.get("Idempotency-Replayed")).toBeNull();
    expect(TriggeredRun.parse(await again.json())).toMatchObject({ runId: made, state: "running" });
    expect(await runs()).toEqual([made]);
    expect((await keyed("r1", {}, PATH)).headers.get("Idempotency-Replayed")).toBe("true");
  });

  test("a key whose moment another key has gets one of its own, the same when it comes again", async () => {
    await heldBefore("r2", "2026-05-09T10:00:00.005Z");
    await heldBefore("r3", "2026-05-09T10:00:00.005Z");
    expect(await runIdOf(keyed("r2", {}, PATH))).toBe("2026-05-09T10-00-00-005Z");
    expect(await runIdOf(keyed("r3", {}, PATH))).toBe("2026-05-09T10-00-00-006Z");
    await heldBefore("r3", "2026-05-09T10:00:00.005Z");
    expect(await runIdOf(keyed("r3", {}, PATH))).toBe("2026-05-09T10-00-00-006Z");
  });

  test("P13: a key first seen on a boundary does not take the place of the scheduled run", async () => {
    await heldBefore("r4", "2026-05-09T04:00:00Z");
    expect(await runIdOf(keyed("r4", {}, PATH))).toBe("2026-05-09T04-00-00-001Z");
  });

  test.each([{}, { logicalDate: "2026-05-20T00:00:00Z" }])(
    "the answer is lost behind the commit, triggered with %j: the repeat is told of the run",
    async (body) => {
      const key = `lost${JSON.stringify(body).length}`;
      let fail = true;
      const trigger: MeridianClient["trigger"] = async (request) => {
        const made = await client.trigger(request);
        if (fail) throw new Retryable("database_away", "the connection broke");
        return made;
      };
      app = testApp({ db: database.pool, client: { ...client, trigger } });
      const before = await runs();
      await problemOf(await keyed(key, body, PATH), 503);
      fail = false;
      const runId = await runIdOf(keyed(key, body, PATH));
      expect((await runs()).filter((id) => !before.includes(id))).toEqual([runId]);
      const { code } = await problemOf(
        await post(app, PATH, { logicalDate: new Date(parseRunId(runId)!.logicalAt) }),
        409,
      );
      expect(code).toBe("run_exists");
    },
  );
});
