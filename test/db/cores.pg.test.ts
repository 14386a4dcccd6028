import { afterAll, beforeAll, expect, it } from "vitest";
import { nextTasks } from "../../activities/next-tasks.ts";
import { requestRow } from "../../activities/rows.ts";
import { advance } from "../../db/pools/advance.ts";
import { createRuns } from "../../db/runs.ts";
import { recordTries } from "../../db/tries.ts";
import { Versions } from "../../db/versions.ts";
import { storeDag } from "../schedules/rows.ts";
import { serialTask } from "../support/serial.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => await db.drop());

it("B12 B17: the cores of a task reach the account book however its try is asked for", async () => {
  await storeDag(db.pool, { id: "d", schedule: null, startDate: "2026-01-01T00:00:00Z" });
  const tasks = [
    serialTask("first", [], { cores: 4 }),
    serialTask("next", [0], { cores: 0.5 }),
    serialTask("plain", [0]),
    serialTask("asked", [1], { cores: 40 }),
  ];
  const { rows } = await db.pool.query<{ version: number }>(
    "update app.dag_version set graph = jsonb_build_object('zone', 'UTC', 'tasks', $1::jsonb) returning version",
    [JSON.stringify(tasks)],
  );
  const { version: number } = rows[0]!;
  const version = await new Versions(db.pool).load(number);
  const at = "2026-01-01T00:00:00Z";
  const dates = { logical_at: at, start_at: at, end_at: at };
  const more = { run_type: "manual" as const, version: number, who: "t", first: version.first };
  const [made] = await createRuns(db.pool, [{ dag_id: "d", run_id: "r", ...dates, ...more }]);
  const { run } = made!;
  const cores = async (task: string) =>
    (await db.pool.query("select cores from app.lease where run = $1 and task_id = $2", [run, task])).rows;
  expect(await cores("first")).toEqual([{ cores: 4 }]);

  const key = { run, task_id: "first", map_index: -1, try: 1 };
  const started = { ...key, worker: "w", at, inputs: {} };
  const ended = { ...key, state: "success" as const, at, error: null, output: null };
  const next = nextTasks(version, run, "first");
  expect(next.map((row) => row.cores)).toEqual([0.5, undefined]);
  await recordTries(db.pool, [started], [ended], next);
  expect(await cores("next")).toEqual([{ cores: 0.5 }]);
  expect(await cores("plain")).toEqual([{ cores: 1 }]);

  const request = { taskId: "asked", mapIndex: -1, try: 1, pool: "default_pool", slots: 1, priority: 1 };
  await advance(db.pool, [run], [], [requestRow(run, request, version)]);
  expect(await cores("asked")).toEqual([{ cores: 40 }]);
  expect(requestRow(run, request, null)).not.toHaveProperty("cores");
});
