import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Pool, PoolHistory, PoolList } from "../../api/contracts.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { samplePools } from "../../db/pools/sample.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";
import { get, post, problemOf, testApp, type TestApp } from "./support.ts";

let book: AccountBook;
let app: TestApp;

beforeAll(async () => {
  book = await AccountBook.make();
  app = testApp({ db: book.db.pool });
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query("truncate app.flow, app.ended_lease, app.pool_sample, app.audit");
  for (const [id, own] of [
    ["low", 0],
    ["top", 2],
  ] as const)
    await book.addDag(id, null, own);
});

const pool = async (name: string): Promise<Pool> =>
  (await get(app, "/pools", PoolList)).pools.find((one) => one.name === name)!;
const set = async (body: unknown, status = 200): Promise<Pool> => {
  const response = await post(app, "/pools/p", body);
  expect(response.status).toBe(status);
  return Pool.parse(await response.json());
};
const asked = async (dagId: string, ids: readonly string[], runType: "manual" | "scheduled" = "manual") => {
  const run = await book.newRun(dagId, runType);
  await advance(
    book.db.pool,
    [run],
    [],
    ids.map((id) => ask(run, id, "p")),
  );
  await admissionPass(book.db.pool);
  return run;
};
const limitsOf = async (task: string) =>
  (await book.db.pool.query<{ limits: string[] }>("select limits from app.lease where task_id = $1", [task]))
    .rows[0]!.limits;

describe("B11: what a pool shows", () => {
  it("B11: how long what waits has waited, and arrivals against grants, by class, those that are gone among them", async () => {
    await book.setPool("p", 2);
    const run = await asked("d", ["a", "b", "c"]);
    await asked("top", ["t"]);
    await asked("low", ["l"]);
    await book.db.pool.query(
      "update app.lease set requested_at = requested_at - interval '100 seconds' where task_id = 'c'",
    );
    const full = await pool("p");
    expect(full).toMatchObject({ used: 2, waiting: 3, arrivalsPerMinute: expect.closeTo(5 / 10.5, 1) });
    expect(full.longestWaitMs).toBeGreaterThan(100_000);
    expect(full.p95WaitMs).toBeGreaterThan(100_000);
    expect(full.classes.map((one) => [one.class, one.used, one.waiting])).toEqual([
      ["critical", 0, 1],
      ["standard", 2, 1],
      ["best_effort", 0, 1],
    ]);
    await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a")]);
    await admissionPass(book.db.pool);
    const later = await pool("p");
    expect(later).toMatchObject({ used: 2, waiting: 2, arrivalsPerMinute: full.arrivalsPerMinute });
    expect(later.classes.find((one) => one.class === "critical")).toMatchObject({ used: 1, waiting: 0 });
    expect(later.grantsPerMinute).toBeCloseTo(3 / 10.5, 1);
    const standard = later.classes.find((one) => one.class === "standard")!;
    expect(standard.arrivalsPerMinute).toBeCloseTo(3 / 10.5, 1);
    expect(standard.grantsPerMinute).toBeCloseTo(2 / 10.5, 1);
    // Added up they say the same, and what is old counts no more.
    await samplePools(book.db.pool);
    expect((await pool("p")).arrivalsPerMinute).toBeCloseTo(later.arrivalsPerMinute, 1);
    await book.db.pool.query("update app.flow set at = at - interval '12 minutes'");
    expect((await pool("p")).arrivalsPerMinute).toBeLessThan(later.arrivalsPerMinute);
  });

  it("B11: tries that were asked to give back are told until they have", async () => {
    await book.setPool("p", 2);
    const run = await asked("d", ["a"]);
    await book.db.pool.query("update app.lease set preempted_at = app.now() where task_id = 'a'");
    expect(await pool("p")).toMatchObject({ preempted: 1 });
    await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a", 1, "requeued")]);
    expect(await pool("p")).toMatchObject({ preempted: 0, used: 0 });
  });

  it("B17: a scheduled floor: set, kept on resize, refused above the slots, taken away, gone with its pool", async () => {
    expect(await set({ slots: 4, scheduledFloor: 3 }, 201)).toMatchObject({ slots: 4, scheduledFloor: 3 });
    await asked("d", ["a", "b"]);
    expect(await book.tasks("granted")).toEqual(["a"]);
    await asked("d", ["s", "t", "u"], "scheduled");
    expect(await book.tasks("granted")).toEqual(["a", "s", "t", "u"]);
    expect(await set({ slots: 5 })).toMatchObject({ slots: 5, scheduledFloor: 3, used: 5 });
    const problem = await problemOf(await post(app, "/pools/p", { slots: 2 }), 400);
    expect(problem).toMatchObject({ code: "floor_above_slots" });
    expect(problem.detail).toContain('pool "p": its scheduled floor is 3, more than its 2 slots');
    expect((await pool("p")).slots).toBe(5);
    expect(await limitsOf("a")).toEqual(["adhoc:p"]);
    expect(await set({ slots: 5, scheduledFloor: 0 })).toMatchObject({ scheduledFloor: 0 });
    expect(await limitsOf("a")).toEqual([]);
    expect(await set({ slots: 5, scheduledFloor: 5 })).toMatchObject({ scheduledFloor: 5 });
    expect(await limitsOf("a")).toEqual(["adhoc:p"]);
    expect(await limitsOf("s")).toEqual([]);
    const { rows } = await book.db.pool.query(
      "select detail from app.audit where action = 'set_pool' order by id",
    );
    expect(rows[0]).toEqual({
      detail: { account: "pool:p", slots: 4, before: null, scheduledFloor: 3 },
    });
    await book.db.pool.query("delete from app.lease");
    expect((await app.request("/api/v1/pools/p", { method: "DELETE" })).status).toBe(204);
    const left = await book.db.pool.query("select key from app.account where key in ('pool:p', 'adhoc:p')");
    expect(left.rows).toEqual([]);
  });
});

describe("C4: the series of a pool", () => {
  it("C4: depth, waits, use each 10 s by one of several callers; arrivals and grants by the minute", async () => {
    await book.setPool("p", 1);
    const at = (text: string) => [`set_config('meridian.now', '${text}', false)`];
    const client = await book.db.pool.connect();
    try {
      const now = async (text: string) => await client.query(`select ${at(text).join()}`);
      await asked("d", ["a", "b"]);
      await client.query(
        "update app.lease set requested_at = '2026-05-09T10:00:01Z', granted_at = case when granted_at is not null then '2026-05-09T10:00:02Z'::timestamptz end where task_id <> ''",
      );
      await now("2026-05-09T10:00:21Z");
      expect(await Promise.all([samplePools(client), samplePools(client)])).toEqual([true, false]);
      await now("2026-05-09T10:01:05Z");
      await client.query("delete from app.lease where task_id = 'a'");
      expect(await samplePools(client)).toBe(true);
      // Two hours later only full minutes are kept, and a week later nothing.
      const { rows } = await client.query<{ at: Date }>("select at from app.pool_sample order by at");
      expect(rows.map((row) => row.at.toISOString())).toEqual([
        "2026-05-09T10:00:20.000Z",
        "2026-05-09T10:01:00.000Z",
      ]);
      await now("2026-05-09T12:30:00Z");
      await samplePools(client);
      const kept = await client.query("select from app.pool_sample where at < '2026-05-09T12:00:00Z'");
      expect(kept.rowCount).toBe(1);
      await now("2026-05-17T12:30:00Z");
      await client.query("delete from app.lease");
      await samplePools(client);
      expect((await client.query("select from app.pool_sample")).rowCount).toBe(0);
    } finally {
      await client.query("reset meridian.now");
      client.release();
    }
  });

  it("C4: the series over the API, of a pool that is there or was used", async () => {
    await book.setPool("p", 1);
    const run = await asked("d", ["a", "b"]);
    await samplePools(book.db.pool);
    await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a")]);
    const history = await get(app, "/pools/p/history?minutes=5", PoolHistory);
    expect(history.samples).toMatchObject([{ slots: 1, used: 1, waiting: 1 }]);
    expect(history.samples[0]!.longestWaitMs).toBeGreaterThan(0);
    const sum = (of: "arrivals" | "grants") => history.minutes.reduce((all, one) => all + one[of], 0);
    expect([sum("arrivals"), sum("grants")]).toEqual([2, 1]);
    expect(await get(app, "/pools/default_pool/history", PoolHistory)).toEqual({
      name: "default_pool",
      samples: [],
      minutes: [],
    });
    expect((await problemOf(await app.request("/api/v1/pools/nowhere/history"), 404)).code).toBe("no_pool");
    const problem = await problemOf(await app.request("/api/v1/pools/p/history?minutes=0"), 400);
    expect(problem.detail).toContain("minutes: expected a whole number from 1 to 10080");
  });
});
