import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LogPiece, RunDetail, RunList, TryList } from "../../api/contracts.ts";
import { madeBounds } from "../../db/read/runs.ts";
import type { LogKey } from "../../platform/logs/store.ts";
import { insertCell, insertDag, insertLease, insertRun, insertTry } from "./rows.ts";
import { serialTask } from "../support/serial.ts";
import { get, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;
const asked: [LogKey, number][] = [];
const RUN = "/dags/sales/runs/2026-05-09T00-00-00Z";

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  const { pool } = database;
  const logs = {
    read: async (key: LogKey, offset: number) => {
      asked.push([key, offset]);
      return { text: "hello\n", nextOffset: offset + 6, done: true };
    },
  };
  app = testApp({ db: pool, logs });
  await insertDag(pool, "sales", {
    tasks: [serialTask("extract"), serialTask("load", [0]), serialTask("tell", [1])],
  });
  const run = await insertRun(pool, "sales", "2026-05-09T00:00:00Z", {
    state: "running",
    runType: "manual",
    reason: "waits",
    conf: { region: "eu" },
  });
  await insertCell(pool, run, "extract", "success", { try: 2 });
  await insertCell(pool, run, "load", "queued", { try: 1 });
  await insertTry(pool, run, "extract", 1, "failed", {
    error: { code: "TypeError", message: "x is null", stack: "at a" },
  });
  await insertTry(pool, run, "extract", 2, "success", { output: { rows: 3 } });
  await insertLease(pool, run, "load", "pool:default_pool", 4, { reason: "default_pool is full" });
  await insertLease(pool, run, "", "runs:sales", 1, { granted: true });
});
afterAll(() => database.drop());

test("C1: a run with cells, what it waits for, and the way to Temporal Web", async () => {
  const run = await get(app, RUN, RunDetail);
  expect(run).toMatchObject({
    dagId: "sales",
    runType: "manual",
    state: "running",
    reason: "waits",
    conf: { region: "eu" },
    triggeredBy: "clock",
    version: 1,
    workflowId: "run.sales.2026-05-09T00-00-00Z",
    temporalUrl: "http://localhost:8233/namespaces/default/workflows/run.sales.2026-05-09T00-00-00Z",
  });
  expect(run.cells.map((c) => [c.taskId, c.state, c.try])).toEqual([
    ["extract", "success", 2],
    ["load", "queued", 1],
  ]);
  expect(run.waiting).toEqual([
    {
      taskId: "load",
      mapIndex: -1,
      try: 1,
      pool: "default_pool",
      slots: 4,
      reason: "default_pool is full",
      since: expect.any(String) as string,
    },
  ]);
});

test("a run that waits to begin says so; without Temporal Web there is no link", async () => {
  const run = await insertRun(database.pool, "sales", "2026-05-10T00:00:00.123Z", { state: "queued" });
  await insertLease(database.pool, run, "", "runs:sales", 1, { reason: "sales has 16 of 16 runs" });
  const alone = testApp({ db: database.pool, temporalWeb: null });
  const detail = await get(alone, "/dags/sales/runs/2026-05-10T00-00-00-123Z", RunDetail);
  expect(detail.waiting).toMatchObject([{ taskId: null, pool: null, reason: "sales has 16 of 16 runs" }]);
  expect(detail.temporalUrl).toBeNull();
});

test("C1: tries of a task", async () => {
  const list = await get(app, `${RUN}/tasks/extract/tries`, TryList);
  expect(list).toMatchObject({ state: "success", waiting: null });
  expect(list.tries).toMatchObject([
    {
      try: 1,
      state: "failed",
      worker: "worker-1",
      error: { code: "TypeError", message: "x is null", stack: "at a" },
      output: null,
    },
    { try: 2, state: "success", startedAt: "2026-05-09T06:00:00.000Z", error: null, output: { rows: 3 } },
  ]);
  const waiting = await get(app, `${RUN}/tasks/load/tries`, TryList);
  expect(waiting).toMatchObject({
    state: "queued",
    tries: [],
    waiting: { try: 1, reason: "default_pool is full" },
  });
  expect(await get(app, `${RUN}/tasks/tell/tries`, TryList)).toMatchObject({
    state: "none",
    tries: [],
    waiting: null,
  });
});

test("a log from an offset on", async () => {
  const piece = await get(app, `${RUN}/tasks/extract/tries/2/log?offset=7`, LogPiece);
  expect(piece).toEqual({ text: "hello\n", nextOffset: 13, done: true });
  const key = { dagId: "sales", runId: "2026-05-09T00-00-00Z", taskId: "extract", mapIndex: -1, try: 2 };
  expect(asked).toEqual([[key, 7]]);
});

test("the log of a try that runs is never done", async () => {
  const run = await insertRun(database.pool, "sales", "2026-05-11T00:00:00Z", { state: "running" });
  await insertTry(database.pool, run, "extract", 1, "running");
  const path = "/dags/sales/runs/2026-05-11T00-00-00Z/tasks/extract/tries/1/log";
  expect((await get(app, path, LogPiece)).done).toBe(false);
});

test.each([
  ["/dags/sales/runs/2026-01-01T00-00-00Z", "no_run"],
  ["/dags/sales/runs/2026-05-09T00-00-00Z.fork-1", "no_run"],
  ["/dags/other/runs/2026-05-09T00-00-00Z", "no_run"],
  [`${RUN}/tasks/nothing/tries`, "no_task"],
  [`${RUN}/tasks/extract/tries?mapIndex=3`, "no_task"],
  ["/dags/sales/runs/2026-01-01T00-00-00Z/tasks/extract/tries", "no_run"],
  [`${RUN}/tasks/extract/tries/3/log`, "no_try"],
  [`${RUN}/tasks/nothing/tries/1/log`, "no_try"],
  ["/dags/sales/runs/2026-01-01T00-00-00Z/tasks/extract/tries/1/log", "no_run"],
])("%s is 404 %s", async (path, code) => {
  const before = asked.length;
  expect((await problemOf(await app.request(`/api/v1${path}`), 404)).code).toBe(code);
  expect(asked.length).toBe(before);
});

test("a fork is a run of its own on the same date", async () => {
  await insertRun(database.pool, "sales", "2026-05-09T00:00:00Z", { fork: 2, runType: "fork" });
  expect((await get(app, `${RUN}.fork-2`, RunDetail)).runType).toBe("fork");
});

describe("K70: 250 runs, 100 a page", () => {
  beforeAll(async () => {
    await insertDag(database.pool, "many");
    // Forks of one date: equal dates must not be lost or doubled at a page's edge.
    for (let i = 0; i < 250; i += 1) {
      const state = i % 50 === 0 ? "failed" : "success";
      await insertRun(database.pool, "many", "2026-04-01T00:00:00Z", { fork: i, state });
    }
  });

  const pages = async (path: string): Promise<string[][]> => {
    const all: string[][] = [];
    let before: string | null = "";
    while (before !== null) {
      const page: RunList = await get(app, `${path}${before === "" ? "" : `&before=${before}`}`, RunList);
      all.push(page.runs.filter((r) => r.dagId === "many").map((r) => r.runId));
      before = page.before;
    }
    return all;
  };

  test("of one DAG: 100 + 100 + 50, all distinct, newest first", async () => {
    const all = await pages("/dags/many/runs?limit=100");
    expect(all.map((page) => page.length)).toEqual([100, 100, 50]);
    expect(new Set(all.flat()).size).toBe(250);
    expect(all[0]![0]).toBe("2026-04-01T00-00-00Z.fork-249");
    expect(all.at(-1)!.at(-1)).toBe("2026-04-01T00-00-00Z");
  });

  test("of all DAGs, by state", async () => {
    expect(new Set((await pages("/runs?limit=100")).flat()).size).toBe(250);
    const failed = await get(app, "/runs?state=failed", RunList);
    expect(failed.runs.map((r) => r.runId.split("fork-")[1])).toEqual(["200", "150", "100", "50", undefined]);
    const open = await get(app, "/runs?state=queued,running", RunList);
    expect(open.runs.map((r) => r.dagId)).toEqual(["sales", "sales", "sales"]);
    expect((await get(app, "/dags/many/runs?state=failed&limit=2", RunList)).runs).toHaveLength(2);
    expect(await get(app, "/dags/many/runs?state=queued", RunList)).toEqual({ runs: [], before: null });
  });

  test("oldest first is the exact reverse", async () => {
    const down = (await pages("/dags/many/runs?limit=100")).flat();
    expect((await pages("/dags/many/runs?limit=100&sort=date")).flat()).toEqual(down.toReversed());
    const all = (await pages("/runs?limit=100")).flat();
    expect((await pages("/runs?limit=100&sort=date")).flat()).toEqual(all.toReversed());
  });

  test("while runs are added, every run that was there comes once, in order", async () => {
    await insertDag(database.pool, "grows");
    const there: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      await insertRun(database.pool, "grows", "2026-04-02T00:00:00Z", { fork: 2 * i });
      there.unshift(i === 0 ? "2026-04-02T00-00-00Z" : `2026-04-02T00-00-00Z.fork-${2 * i}`);
    }
    for (const path of ["/dags/grows/runs?limit=7", "/runs?limit=7&search=grows"]) {
      const seen: string[] = [];
      let added = 0;
      for (let before: string | null = ""; before !== null;) {
        const key: string = before === "" ? "" : `&before=${before}`;
        const page: RunList = await get(app, `${path}${key}`, RunList);
        seen.push(...page.runs.map((run) => run.runId));
        before = page.before;
        // One before, one behind and one between what was read.
        for (const day of ["01", "02", "03"]) {
          const fork = 1001 + 2 * (added += 1);
          await insertRun(database.pool, "grows", `2026-04-${day}T00:00:00Z`, { fork });
        }
      }
      expect(seen.filter((id) => there.includes(id))).toEqual(there);
      expect(new Set(seen).size).toBe(seen.length);
      await database.pool.query(
        "delete from app.run_key where dag_id = 'grows' and fork > 1000; delete from app.dag_run where dag_id = 'grows' and run_id ~ 'fork-[0-9]{4}'",
      );
    }
  });

  test.each([
    ["type=manual", ["2026-05-09T00-00-00Z"]],
    ["type=manual,fork", ["2026-05-09T00-00-00Z.fork-2", "2026-05-09T00-00-00Z"]],
    ["from=2026-05-10T23:59:00%2B23:59", ["2026-05-11T00-00-00Z", "2026-05-10T00-00-00-123Z"]],
    ["from=2026-05-10T00:00:00Z", ["2026-05-11T00-00-00Z", "2026-05-10T00-00-00-123Z"]],
    ["from=2026-05-10T02:00:00%2B02:00&until=2026-05-11T00:00:00Z", ["2026-05-10T00-00-00-123Z"]],
    ["search=05-11t", ["2026-05-11T00-00-00Z"]],
    ["search=%25", []],
    ["state=running&sort=date", ["2026-05-09T00-00-00Z", "2026-05-11T00-00-00Z"]],
  ])("filter %s", async (query, expected) => {
    const { runs } = await get(app, `/dags/sales/runs?${query}`, RunList);
    expect(runs.map((run) => run.runId)).toEqual(expected);
    const everywhere = await get(
      app,
      `/runs?search=2026-05&${query}`.replace(/search=2026-05&(?=.*search)/, ""),
      RunList,
    );
    expect(everywhere.runs.map((run) => run.runId).sort()).toEqual([...expected].sort());
  });

  test.each(["type=nonsense", "from=yesterday", "until=2026-05-09", "sort=state"])(
    "%s is refused",
    async (query) => {
      expect((await problemOf(await app.request(`/api/v1/runs?${query}`), 400)).code).toBe("bad_request");
    },
  );

  test("a page that ends with the last row says so", async () => {
    expect((await get(app, "/dags/many/runs?limit=250", RunList)).before).toBeNull();
  });
});

describe("runs by when they began, and how their tasks stand", () => {
  const HOUR = 3_600_000;
  const ago = (hours: number): string => new Date(Date.now() - hours * HOUR).toISOString();

  /** Made at one time and begun at another: both are what the clocks said. */
  const putRun = async (date: string, madeAt: string, startedAt: string | null, state: string) => {
    const run = await insertRun(database.pool, "nightly", date, { state });
    const number = Date.parse(madeAt) * 1000 + (run % 1000);
    await database.pool.query(
      "with k as (update app.run_key set run = $2 where run = $1) update app.dag_run set run = $2, started_at = $3 where run = $1",
      [run, number, startedAt],
    );
    return number;
  };
  let failed = 0;
  let waits = 0;

  beforeAll(async () => {
    await insertDag(database.pool, "nightly");
    // About the day before yesterday, as daily runs of last night are.
    await putRun("2026-06-01T00:00:00Z", ago(50), ago(50), "success");
    failed = await putRun("2026-06-02T00:00:00Z", ago(30), ago(10), "failed");
    waits = await putRun("2026-06-03T00:00:00Z", ago(3), ago(2), "running");
    await putRun("2026-06-04T00:00:00Z", ago(1), null, "queued");
    for (const [task, endedAt] of [
      ["first", 9],
      ["second", 8],
    ] as const) {
      await insertCell(database.pool, failed, task, "failed");
      await database.pool.query("update app.cell set ended_at = $3 where run = $1 and task_id = $2", [
        failed,
        task,
        ago(endedAt),
      ]);
    }
    await insertCell(database.pool, failed, "after", "upstream_failed");
    await insertCell(database.pool, waits, "first", "success");
    await insertCell(database.pool, waits, "second", "queued");
    await insertCell(database.pool, waits, "third", "up_for_retry");
  });

  const days = async (query: string, path = "/runs?search=nightly&"): Promise<string[]> =>
    (await get(app, path + query, RunList)).runs.map((run) => run.runId.slice(8, 10));

  test.each([
    [`startedFrom=${ago(12)}`, ["03", "02"]],
    [`startedUntil=${ago(12)}`, ["01"]],
    [`startedFrom=${ago(12)}&startedUntil=${ago(6)}`, ["02"]],
    [`startedFrom=${ago(60)}&startedUntil=${ago(40)}&state=failed`, []],
    [`startedFrom=${ago(12)}&state=failed`, ["02"]],
    [`startedFrom=${ago(12)}&until=2026-06-03T00:00:00Z`, ["02"]],
    [`startedFrom=${ago(12)}&sort=date`, ["02", "03"]],
  ])("C1: %s", async (query, expected) => {
    expect(await days(query)).toEqual(expected);
    expect(await days(query, "/dags/nightly/runs?")).toEqual(expected);
  });

  test("C1: a bound on the run's number goes with them, so that the index narrows a year", () => {
    const from = "2026-11-01T00:00:00.000Z";
    expect(madeBounds(null, null)).toEqual(["-9223372036854775808", "9223372036854775807"]);
    const [low, high] = madeBounds(from, from).map(Number);
    expect(Date.parse(from) - low! / 1000).toBe(92 * 24 * HOUR);
    expect(high! / 1000 - Date.parse(from)).toBe(HOUR);
  });

  test("C1: with tasks=true what runs or failed says how its tasks stand", async () => {
    const { runs } = await get(app, "/dags/nightly/runs?tasks=true", RunList);
    expect(runs.map((run) => run.tasks)).toEqual([
      null,
      { running: 0, waiting: 2, failed: 0, firstFailed: null },
      { running: 0, waiting: 0, failed: 2, firstFailed: { taskId: "first", mapIndex: -1 } },
      null,
    ]);
    const plain = await get(app, "/dags/nightly/runs", RunList);
    expect(plain.runs.map((run) => run.tasks)).toEqual([null, null, null, null]);
  });

  test("C1: of a run with more than 1,000 cells a list tells nothing", async () => {
    await database.pool.query(
      "insert into app.cell (run, task_id, map_index, state) select $1, 'many', n, 'running' from generate_series(0, 996) n",
      [waits],
    );
    const standOf = async () =>
      (await get(app, "/dags/nightly/runs?tasks=true&state=running", RunList)).runs[0]!.tasks;
    expect(await standOf()).toMatchObject({ running: 997 });
    await insertCell(database.pool, waits, "one_more", "running");
    expect(await standOf()).toBeNull();
  });
});
