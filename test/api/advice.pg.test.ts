import { afterAll, beforeAll, expect, test } from "vitest";
import { DagDetail } from "../../api/contracts.ts";
import { LAST_FAN_OUTS } from "../../db/read/fan-outs.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { serialGraph, serialTask } from "../support/serial.ts";
import { insertDag, insertRun, insertVersion } from "./rows.ts";
import { get, testApp, type TestApp } from "./support.ts";

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  app = testApp({ db: database.pool });
});
afterAll(async () => await database.drop());

const MAPPED = [serialTask("list"), serialTask("load", [0], { map: 0 })];

/** A version whose `load` is mapped over the output of `list`. */
async function putMap(dagId: string, batch: number | null): Promise<number> {
  const version = await insertVersion(database.pool, dagId, MAPPED);
  const graph = {
    ...serialGraph(dagId, MAPPED),
    maps: [{ group: null, over: { n: 0 }, how: "product", batch, max: 1024 }],
  };
  await database.pool.query("update app.dag_version set graph = $2 where version = $1", [version, graph]);
  return version;
}

/** Instances that waited 300 ms and then ran so long. */
const putCells = async (run: number, count: number, ms: number, state = "success", task = "load") =>
  await database.pool.query(
    `insert into app.cell (run, task_id, map_index, state, try, phase, queued_at, started_at, ended_at)
     select $1, $4, i, $5, 1, 3, '2026-05-09T04:00:00Z', '2026-05-09T04:00:00.3Z',
       '2026-05-09T04:00:00.3Z'::timestamptz + make_interval(secs => $3 / 1000.0)
     from generate_series(0, $2 - 1) i`,
    [run, count, ms, task, state],
  );

const advice = async (dagId: string): Promise<string | undefined> => {
  const { warnings } = await get(app, `/dags/${dagId}`, DagDetail);
  return warnings.find(({ code }) => code === "fans_out_small")?.message;
};

test("D3: a DAG whose last finished run fanned out too small says so, with figures and the batch that would do", async () => {
  await insertDag(database.pool, "tiny");
  await putMap("tiny", null);
  await putCells(await insertRun(database.pool, "tiny", "2026-05-08T00:00:00Z"), 200, 5_000);
  expect(await advice("tiny")).toBeUndefined();
  await putCells(await insertRun(database.pool, "tiny", "2026-05-09T00:00:00Z"), 200, 100);
  // One that is under way says nothing yet.
  const open = await insertRun(database.pool, "tiny", "2026-05-10T00:00:00Z", { state: "running" });
  await putCells(open, 200, 5_000);
  expect(await advice("tiny")).toBe(
    'task "load" had 200 instances in run 2026-05-09T00-00-00Z, and half of them took less than 0.1 s; ' +
      "75 % of the time from being asked for to their ends they waited for slots and starts. " +
      "Give more items to each: batch: 100 would make 2 of about 10 s",
  );
  // Whoever has just changed it is not told of what was before.
  await putMap("tiny", 100);
  expect(await advice("tiny")).toBeUndefined();
});

test("D3: what failed or was skipped, few instances, and tasks that are not mapped say nothing", async () => {
  await insertDag(database.pool, "calm");
  await putMap("calm", null);
  const run = await insertRun(database.pool, "calm", "2026-05-09T00:00:00Z", { state: "failed" });
  await putCells(run, 500, 10, "failed");
  await putCells(run, 500, 10, "success", "list");
  expect(await advice("calm")).toBeUndefined();
  await database.pool.query("delete from app.cell where run = $1", [run]);
  await putCells(run, 99, 10);
  expect(await advice("calm")).toBeUndefined();
});

test("D3: the question goes by indexes, and reads no run but the last", async () => {
  await insertDag(database.pool, "wide");
  const version = await putMap("wide", null);
  for (let day = 1; day <= 9; day++)
    await putCells(await insertRun(database.pool, "wide", `2026-05-0${day}T00:00:00Z`), 5_000, 10);
  await database.pool.query("analyze app.cell");
  expect(await advice("wide")).toContain('task "load" had 5000 instances in run 2026-05-09T00-00-00Z');
  const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off) ${LAST_FAN_OUTS}`,
    ["wide", version, ["load"], 100, 2_000],
  );
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  const read = [...plan.matchAll(/(?:Scan using|Scan on) cell_\d.*rows=([\d.]+)/g)].map((match) =>
    Number(match[1]),
  );
  expect(Math.max(...read)).toBeLessThanOrEqual(5_000);
  expect(plan).toMatch(/(?:using|on) cell_\d{4}_\d\d_pkey/);
});
