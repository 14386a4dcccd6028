import { afterAll, beforeAll, expect, test } from "vitest";
import { DagDetail, DagFacets, DagList, Health, ImportErrorList, NextRuns } from "../../api/contracts.ts";
import { SCHEMA_VERSION } from "../../db/migrate.ts";
import { insertDag, insertRun, insertVersion } from "./rows.ts";
import { serialTask } from "../support/serial.ts";
import { fakeClient, get, post, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;
const fake = fakeClient(["sales"]);

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  const { pool } = database;
  app = testApp({ db: pool, client: fake.client });
  await insertDag(pool, "sales", {
    description: "Daily 100% sales",
    tags: ["finance", "daily"],
    paused: true,
  });
  await insertDag(pool, "stock_x", { tags: ["daily"] });
  await insertDag(pool, "stockyx", { active: false, file: "broken.ts" });
  for (let day = 1; day <= 12; day += 1) {
    const date = `2026-05-${String(day).padStart(2, "0")}T04:00:00Z`;
    await insertRun(pool, "sales", date, { state: day === 12 ? "failed" : "success" });
  }
  await insertRun(pool, "stock_x", "2026-05-01T04:00:00Z", { state: "running" });
  await pool.query(
    `insert into app.dag_file (path, checked_at, duration_ms, error, dag_ids) values
       ('broken.ts', '2026-05-09T00:00:00Z', 5, '{"code": "syntax", "message": "unexpected }", "line": 3}', '{stockyx}'),
       ('sales.ts', '2026-05-09T00:00:00Z', 5, null, '{sales}')`,
  );
});
afterAll(() => database.drop());

const ids = async (query: string): Promise<string[]> =>
  (await get(app, `/dags${query}`, DagList)).dags.map((d) => d.dagId);

test("C1: a DAG in the list", async () => {
  const { dags, total } = await get(app, "/dags", DagList);
  expect(total).toBe(3);
  const { lastRuns, ...sales } = dags[0]!;
  expect(sales).toEqual({
    dagId: "sales",
    description: "Daily 100% sales",
    owner: "ann",
    tags: ["finance", "daily"],
    schedule: expect.stringMatching(/06:00.*Europe\/Berlin/) as string,
    paused: true,
    pauseReason: "too slow",
    pausedBy: "bob",
    active: true,
    nextDueAt: "2026-05-10T04:00:00.000Z",
    nextInterval: { start: "2026-05-09T04:00:00.000Z", end: "2026-05-10T04:00:00.000Z" },
    version: 1,
    importError: false,
  });
  expect(lastRuns.map((run) => run.logicalDate.slice(8, 10))).toEqual(
    "03 04 05 06 07 08 09 10 11 12".split(" "),
  );
  expect(lastRuns.at(-1)).toEqual({
    runId: "2026-05-12T04-00-00Z",
    state: "failed",
    logicalDate: "2026-05-12T04:00:00.000Z",
  });
  expect(dags[2]).toMatchObject({ dagId: "stockyx", active: false, importError: true, lastRuns: [] });
});

test.each([
  ["?search=STOCK", ["stock_x", "stockyx"]],
  ["?search=stock_", ["stock_x"]],
  ["?search=100%25", ["sales"]],
  ["?search=%25", ["sales"]],
  ["?search=%5C", []],
  ["?tag=daily", ["sales", "stock_x"]],
  ["?tag=dai", []],
  ["?paused=true", ["sales"]],
  ["?paused=false&active=true", ["stock_x"]],
  ["?active=false", ["stockyx"]],
  ["?state=failed", ["sales"]],
  ["?state=success", []],
  ["?state=running&tag=daily", ["stock_x"]],
  ["?tag=daily&tag=finance", ["sales", "stock_x"]],
  ["?tag=daily&tag=finance&tagMatch=all", ["sales"]],
  ["?owner=ann", ["sales", "stock_x", "stockyx"]],
  ["?owner=ann&owner=bob&active=true", ["sales", "stock_x"]],
  ["?owner=an", []],
  ["?importError=true", ["stockyx"]],
  ["?importError=false", ["sales", "stock_x"]],
  ["?sort=-dagId", ["stockyx", "stock_x", "sales"]],
  ["?sort=nextDueAt", ["stock_x", "sales", "stockyx"]],
  ["?sort=-nextDueAt", ["stockyx", "sales", "stock_x"]],
])("filter %s", async (query, expected) => {
  const list = await get(app, `/dags${query}`, DagList);
  expect(list.dags.map((d) => d.dagId)).toEqual(expected);
  expect(list.total).toBe(expected.length);
});

test("K70: pages by key, the total on each", async () => {
  const first = await get(app, "/dags?limit=2", DagList);
  expect([first.dags.length, first.total, first.after]).toEqual([2, 3, "stock_x"]);
  const second = await get(app, `/dags?limit=2&after=${first.after}`, DagList);
  expect([second.dags.map((d) => d.dagId), second.total, second.after]).toEqual([["stockyx"], 3, null]);
  expect(await ids("?after=zzz")).toEqual([]);
  expect((await get(app, "/dags?limit=3", DagList)).after).toBeNull();
});

test.each(["dagId", "-dagId", "nextDueAt", "-nextDueAt"])(
  "K70: sorted by %s, pages are the list, and the reverse is the exact reverse",
  async (sort) => {
    const whole = await ids(`?sort=${sort}`);
    const paged: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const key: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
      const page = await get(app, `/dags?sort=${sort}&limit=1${key}`, DagList);
      expect([page.total, page.dags.length]).toEqual([3, 1]);
      paged.push(page.dags[0]!.dagId);
      after = page.after;
    }
    expect(paged).toEqual(whole);
    const other = sort.startsWith("-") ? sort.slice(1) : `-${sort}`;
    expect(await ids(`?sort=${other}`)).toEqual([...whole].reverse());
    expect((await problemOf(await app.request(`/api/v1/dags?sort=${sort}&after=a/b`), 400)).code).toBe(
      "bad_request",
    );
  },
);

test.each([
  "sort=nonsense",
  "limit=-1",
  "limit=1000000000",
  "limit=1&limit=2",
  "nonsense=1",
  "tagMatch=some",
])("K70: %s is refused", async (query) => {
  expect((await problemOf(await app.request(`/api/v1/dags?${query}`), 400)).code).toBe("bad_request");
});

test("C1: tags and owners to filter by", async () => {
  expect(await get(app, "/dag-facets", DagFacets)).toEqual({
    tags: [
      { name: "daily", dags: 2 },
      { name: "finance", dags: 1 },
    ],
    owners: [{ name: "ann", dags: 2 }],
  });
});

test("C1: runs that are to come", async () => {
  const { runs } = await get(app, "/dags/stock_x/next-runs?count=3", NextRuns);
  expect(runs).toHaveLength(3);
  const [first, second] = runs;
  expect(first!.logicalDate).toBe(first!.interval.start);
  expect(first!.dueAt).toBe(first!.interval.end);
  expect(second!.interval.start).toBe(first!.interval.end);
  expect(Date.parse(first!.dueAt)).toBeGreaterThan(Date.now() - 86_400_000);
  // It is paused.
  expect((await get(app, "/dags/sales/next-runs", NextRuns)).runs).toEqual([]);
  expect((await problemOf(await app.request("/api/v1/dags/nowhere/next-runs"), 404)).code).toBe("no_dag");
});

test("text that Postgres cannot hold is refused", async () => {
  expect((await problemOf(await app.request("/api/v1/dags?search=%00"), 400)).code).toBe("bad_text");
});

test("C1: a DAG with graph and versions", async () => {
  const load = serialTask("load", [0], { inputs: { rows: 0 }, retries: 2 });
  await insertVersion(database.pool, "stock_x", [serialTask("extract"), load, serialTask("tell", [0, 1])]);
  const dag = await get(app, "/dags/stock_x", DagDetail);
  expect(dag).toMatchObject({ file: "stock_x.ts", version: 2, uncovered: null });
  expect(dag.versions.map((v) => v.number)).toEqual([2, 1]);
  expect(dag.graph!.tasks.map((t) => [t.id, t.retries])).toEqual([
    ["extract", 0],
    ["load", 2],
    ["tell", 0],
  ]);
  expect(dag.graph!.edges).toEqual([
    { from: "extract", to: "load", inputs: ["rows"] },
    { from: "extract", to: "tell", inputs: [] },
    { from: "load", to: "tell", inputs: [] },
  ]);
  expect(dag.graph!.timetable).toEqual({ kind: "cron", cron: "0 6 * * *", zone: "Europe/Berlin" });
});

test("a DAG that is not there", async () => {
  for (const tail of ["", "/grid", "/runs", "/runs/2026-05-01T04-00-00Z"]) {
    await problemOf(await app.request(`/api/v1/dags/nothing${tail}`), 404);
  }
  for (const tail of ["/pause", "/unpause", "/runs"]) {
    expect((await problemOf(await post(app, `/dags/nothing${tail}`, {}), 404)).code).toBe("no_dag");
  }
});

test("pause with and without a reason, unpause", async () => {
  fake.calls.length = 0;
  const paused = await post(app, "/dags/sales/pause", { reason: "month end" });
  expect(await paused.json()).toEqual({ dagId: "sales", paused: true, reason: "month end" });
  await post(app, "/dags/sales/pause");
  const unpaused = await post(app, "/dags/sales/unpause");
  expect(await unpaused.json()).toEqual({ dagId: "sales", paused: false, reason: null });
  expect(fake.calls).toEqual([
    ["pause", "sales", "anonymous@api", "month end"],
    ["pause", "sales", "anonymous@api", null],
    ["unpause", "sales", "anonymous@api"],
  ]);
});

test("import errors", async () => {
  expect(await get(app, "/import-errors", ImportErrorList)).toEqual({
    errors: [
      {
        file: "broken.ts",
        code: "syntax",
        message: "unexpected }",
        stack: null,
        place: { file: "broken.ts", line: 3, column: null },
        line: 3,
        checkedAt: "2026-05-09T00:00:00.000Z",
        dagIds: ["stockyx"],
      },
    ],
  });
});

test("health", async () => {
  expect(await get(app, "/health", Health)).toEqual({
    status: "ok",
    version: "1.2.3",
    database: { reachable: true, migration: SCHEMA_VERSION },
    temporal: { known: true, web: "http://localhost:8233/", namespace: "default" },
  });
  const down = await testApp({ temporalWeb: null }).request("/api/v1/health");
  expect(down.status).toBe(503);
  expect(Health.parse(await down.json())).toMatchObject({
    status: "degraded",
    database: { reachable: false, migration: null },
    temporal: { known: false },
  });
});

test("reads go to the replica, when there is one", async () => {
  const replica = testApp({ reader: database.pool });
  expect((await get(replica, "/dags", DagList)).total).toBe(3);
});
