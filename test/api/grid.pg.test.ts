import { afterAll, beforeAll, expect, test } from "vitest";
import { Grid } from "../../api/contracts.ts";
import { GRID_CELLS, GRID_RUNS } from "../../db/read/grid.ts";
import { insertCell, insertDag, insertRun, insertVersion } from "./rows.ts";
import { serialTask } from "../support/serial.ts";
import { get, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;
let last: number;

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  const { pool } = database;
  app = testApp({ db: pool });
  await insertDag(pool, "sales", { tasks: [serialTask("old"), serialTask("load", [0])] });
  const first = await insertRun(pool, "sales", "2026-05-01T00:00:00Z");
  await insertCell(pool, first, "old", "failed");
  await insertCell(pool, first, "load", "upstream_failed", { try: 0 });
  await insertVersion(pool, "sales", [serialTask("extract"), serialTask("load", [0])]);
  last = await insertRun(pool, "sales", "2026-05-02T00:00:00Z", { state: "running" });
  await insertCell(pool, last, "load", "queued", { try: 0 });
  await insertCell(pool, last, "extract", "success", { startedAt: "2026-05-02T00:00:01.500Z" });
  await insertDag(pool, "empty");
  await pool.query(
    `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard)
     values ('unborn', 'u.ts', '{"kind": "manual"}', 'h', 1, 0)`,
  );
});
afterAll(() => database.drop());

test("C1: one cell per task per interval", async () => {
  const grid = await get(app, "/dags/sales/grid", Grid);
  expect(grid.tasks).toEqual([
    { id: "extract", upstream: [], removed: false },
    { id: "load", upstream: [0], removed: false },
    { id: "old", upstream: [], removed: true },
  ]);
  expect(grid.runs.map((r) => [r.runId, r.state, r.version])).toEqual([
    ["2026-05-01T00-00-00Z", "success", 1],
    ["2026-05-02T00-00-00Z", "running", 2],
  ]);
  expect(grid.runs[0]!.interval).toEqual({
    start: "2026-05-01T00:00:00.000Z",
    end: "2026-05-02T00:00:00.000Z",
  });
  const code = (state: Grid["states"][number]): number => grid.states.indexOf(state);
  expect(grid.cells).toEqual([
    [
      [1, code("upstream_failed"), 0, null, null],
      [2, code("failed"), 1, null, null],
    ],
    [
      [0, code("success"), 1, Date.parse("2026-05-02T00:00:01.500Z"), null],
      [1, code("queued"), 0, null, null],
    ],
  ]);
  expect(grid).toMatchObject({ version: 2, paused: false, before: null });
});

test("A7: instances of a mapped task come by their states, and a change of one is a new grid", async () => {
  const { pool } = database;
  await insertDag(pool, "wide", { tasks: [serialTask("list"), serialTask("load", [0])] });
  const run = await insertRun(pool, "wide", "2026-05-01T00:00:00Z", { state: "running" });
  await insertCell(pool, run, "list", "success");
  for (const [mapIndex, state] of ["success", "success", "failed", "removed"].entries())
    await insertCell(pool, run, "load", state, { mapIndex, try: mapIndex + 1 });
  const code = (grid: Grid, state: Grid["states"][number]): number => grid.states.indexOf(state);
  const grid = await get(app, "/dags/wide/grid", Grid);
  expect(grid.cells).toEqual([[[0, code(grid, "success"), 1, null, null]]]);
  expect(grid.mapped).toEqual([
    [
      [1, code(grid, "success"), 2, null, null, 2],
      [1, code(grid, "failed"), 3, null, null, 1],
    ],
  ]);
  await pool.query("update app.cell set state = 'running' where run = $1 and map_index = 1", [run]);
  const next = await get(app, "/dags/wide/grid", Grid);
  expect(next.mapped[0]!.map(([, state, , , , count]) => [next.states[state], count])).toEqual([
    ["running", 1],
    ["success", 1],
    ["failed", 1],
  ]);
});

test("older runs by key, down to the first one", async () => {
  const newest = await get(app, "/dags/sales/grid?runs=1", Grid);
  expect(newest.runs.map((r) => r.runId)).toEqual(["2026-05-02T00-00-00Z"]);
  expect(newest.before).toBe(newest.runs[0]!.key);
  const older = await get(app, `/dags/sales/grid?runs=1&before=${newest.before}`, Grid);
  expect(older.runs.map((r) => r.runId)).toEqual(["2026-05-01T00-00-00Z"]);
  expect(older.before).toBeNull();
  const none = await get(app, `/dags/sales/grid?before=${older.runs[0]!.key}`, Grid);
  expect([none.runs, none.before]).toEqual([[], null]);
});

test("a DAG without runs, and one without a version", async () => {
  expect(await get(app, "/dags/empty/grid", Grid)).toMatchObject({
    runs: [],
    cells: [],
    tasks: [{ id: "extract" }, { id: "load" }],
  });
  expect(await get(app, "/dags/unborn/grid", Grid)).toMatchObject({
    runs: [],
    cells: [],
    tasks: [],
    version: null,
  });
});

test("304 while nothing changed, and a whole grid as soon as a cell did", async () => {
  const ask = (tag?: string) =>
    app.request("/api/v1/dags/sales/grid", tag === undefined ? {} : { headers: { "If-None-Match": tag } });
  const first = await ask();
  const tag = first.headers.get("ETag")!;
  expect(first.headers.get("Cache-Control")).toBe("private, no-cache");
  const same = await ask(tag);
  expect([same.status, await same.text(), same.headers.get("ETag")]).toEqual([304, "", tag]);
  expect(same.headers.get("Cache-Control")).toBe("private, no-cache");
  await database.pool.query(
    "update app.cell set state = 'running', try = 1 where run = $1 and task_id = 'load'",
    [last],
  );
  const changed = await ask(tag);
  expect(changed.status).toBe(200);
  expect(changed.headers.get("ETag")).not.toBe(tag);
  await database.pool.query("update app.dag set paused = true where dag_id = 'sales'");
  expect((await ask(changed.headers.get("ETag")!)).status).toBe(200);
});

test("C1: both statements go by their index among 200 runs × 20 tasks of each of 20 DAGs", async () => {
  const { pool } = database;
  await pool.query(`
    insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard)
      select 'big_' || d, 'b.ts', '{"kind": "manual"}', 'h', 1, 0 from generate_series(1, 20) d;
    insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version)
      select app.new_run() + n * 1000000, 'big_' || d, 'r' || n, 'scheduled', t, t, t, 'success', 0
      from generate_series(1, 20) d, generate_series(1, 200) n, lateral (select '2025-01-01Z'::timestamptz + n * interval '1 day' as t) x;
    insert into app.cell (run, task_id, state, try, started_at, ended_at)
      select run, 'task_' || i, 'success', 1, now(), now() from app.dag_run, generate_series(1, 20) i where dag_id like 'big_%'`);
  await pool.query("analyze app.dag_run; analyze app.cell; analyze app.dag");

  const runs = await plan(GRID_RUNS, ["big_7", "infinity", "9223372036854775807", 32]);
  expect(runs).toMatch(/Index Scan using dag_run_\d{4}_\d\d_dag_id_logical_at_run_idx/);
  expect(runs).not.toMatch(/Seq Scan on dag_run/);
  expect(rowsRead(runs)).toBeLessThan(150);
  // Fingerprints read only the cells of the runs shown; other months' partitions are left out while it runs.
  expect(runs).toMatch(/(?:Index Scan using|Bitmap Index Scan on) cell_\d{4}_\d\d_pkey/);
  expect(runs).not.toMatch(/Seq Scan on cell.*\(actual/);

  const { rows } = await pool.query<{ run: string }>(
    "select run from app.dag_run where dag_id = 'big_7' order by logical_at desc limit 31",
  );
  const cells = await plan(GRID_CELLS, [rows.map((row) => row.run)]);
  expect(cells).toMatch(/(?:Index Scan using|Bitmap Index Scan on) cell_\d{4}_\d\d_pkey/);
  expect(cells).not.toMatch(/Seq Scan on cell/);

  const grid = await get(app, "/dags/big_7/grid", Grid);
  expect([grid.runs.length, grid.cells.flat().length, grid.tasks.length]).toEqual([31, 620, 20]);
});

async function plan(sql: string, values: unknown[]): Promise<string> {
  const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off) ${sql}`,
    values,
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** Rows that the scans of runs gave. */
const rowsRead = (text: string): number =>
  [...text.matchAll(/Scan using dag_run_.*rows=([\d.]+)/g)].reduce((sum, m) => sum + Number(m[1]), 0);
