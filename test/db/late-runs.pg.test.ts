import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { takeAlerts } from "../../db/alerts.ts";
import { setPaused } from "../../db/dag-rows.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { createRuns, type NewRun } from "../../db/runs.ts";
import { Versions } from "../../db/versions.ts";
import { createQueueWatch, failLate } from "../../worker/queued-runs.ts";
import { storeDag } from "../schedules/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { serialTask } from "../support/serial.ts";
import { applyLimits, limitsFile } from "../support/limits.ts";

let db: TestDatabase;
let version: number;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => await db.drop());
beforeEach(async () => {
  await db.pool.query(
    `truncate app.dag, app.dag_version, app.run_key, app.dag_run, app.lease, app.account, app.cell, app.alert, app.limits,
              app.waited`,
  );
  await storeDag(db.pool, {
    id: "d",
    schedule: "@daily",
    startDate: "2026-01-01T00:00:00Z",
    maxActiveRuns: 1,
  });
  await db.pool.query(
    "update app.dag_version set graph = jsonb_build_object('zone', 'UTC', 'tasks', $1::jsonb)",
    [JSON.stringify([serialTask("load")])],
  );
  ({ version } = (await db.pool.query<{ version: number }>("select version from app.dag")).rows[0]!);
});

/** Day 1 has the place, the others wait; all since `agoMs`. */
async function given(days: readonly number[], agoMs: number, more: Partial<NewRun> = {}): Promise<void> {
  const rows = days.map((day) => ({
    dag_id: "d",
    run_id: `day${day}`,
    run_type: "scheduled" as const,
    logical_at: `2026-01-0${day}T00:00:00Z`,
    start_at: `2026-01-0${day}T00:00:00Z`,
    end_at: `2026-01-0${day + 1}T00:00:00Z`,
    version,
    who: "test",
    first: null,
    ...more,
  }));
  for (const row of rows) await createRuns(db.pool, [row]);
  await db.pool.query(
    "update app.dag_run set queued_at = app.now() - make_interval(secs => $1) where run_id = any ($2)",
    [agoMs / 1000, rows.map((row) => row.run_id)],
  );
}

const HOUR = 3_600_000;
const fail = async (timeoutMs: number) => await failLate(db.pool, new Versions(db.pool), timeoutMs);
const states = async () =>
  (
    await db.pool.query<{ text: string }>(
      `select r.run_id || ' ' || r.state || coalesce(' ' || r.reason, '') || case when exists (
         select from app.lease l where l.run = r.run) then ' +lease' else '' end as text from app.dag_run r order by r.run_id`,
    )
  ).rows.map((row) => row.text);

const REASON =
  "it waited 2 h 6 min for a place among the active runs of its dag (1 of 1 taken), longer than the 2 h that the limits file allows";

it("B15: a run that has been queued longer than the limits allow fails with its numbers, gives its lease back and alerts", async () => {
  await given([1, 2], 2 * HOUR + 300_500);
  await given([3], HOUR);
  expect(await fail(2 * HOUR)).toHaveLength(1);
  expect(await states()).toEqual(["day1 queued +lease", `day2 failed ${REASON}`, "day3 queued +lease"]);
  const alerts = await takeAlerts(db.pool, 10, 60_000);
  expect(alerts).toMatchObject([
    { kind: "queued_too_long", run_id: "day2", task_id: "", map_index: -1, try: 0, message: REASON },
  ]);
  expect(await fail(2 * HOUR)).toEqual([]);
  const { rows } = await db.pool.query(
    "select c.task_id, c.state, r.run_state is not null as may_be_cleared from app.dag_run r join app.cell c using (run)",
  );
  expect(rows).toEqual([{ task_id: "load", state: "cancelled", may_be_cleared: true }]);
});

it("B15: while its paused dag holds it, the time of a run does not count", async () => {
  await given([1, 2], 0);
  await setPaused(db.pool, "d", true, "ada", "a move");
  await db.pool.query("update app.dag_run set queued_at = app.now() - interval '3 hours'");
  await db.pool.query("update app.lease set reason_since = app.now() - interval '150 minutes' where held");
  expect(await fail(2 * HOUR), "held").toEqual([]);
  await setPaused(db.pool, "d", false, "ada", null);
  expect(await fail(2 * HOUR), "let go after 30 minutes of its own").toEqual([]);
  await admissionPass(db.pool);
  expect(await fail(29 * 60_000)).toMatchObject([{ run_id: "day2" }]);
});

it("B15: several workers at once fail each run once", async () => {
  await given([1, 2, 3, 4, 5, 6], 3 * HOUR);
  const failed = await Promise.all(Array.from({ length: 6 }, async () => await fail(2 * HOUR)));
  expect(
    failed
      .flat()
      .map((run) => run.run_id)
      .toSorted(),
  ).toEqual(["day2", "day3", "day4", "day5", "day6"]);
  expect((await db.pool.query("select from app.alert")).rowCount).toBe(5);
});

it("B15: a worker looks by the limits file in force, and fails nothing without one", async () => {
  await given([1, 2], 3 * HOUR);
  await db.pool.query(
    "insert into app.trigger_hit (key, at) values ('dag:d', app.now() - interval '1 hour')",
  );
  await createQueueWatch(db.pool, new Versions(db.pool))();
  expect(await states()).toEqual(["day1 queued +lease", "day2 queued +lease"]);
  expect((await db.pool.query("select from app.trigger_hit")).rowCount).toBe(0);
  await applyLimits(db.pool, limitsFile({ queued: { timeoutMs: HOUR } }));
  await createQueueWatch(db.pool, new Versions(db.pool))();
  expect((await states())[1]).toMatch(/^day2 failed it waited 3 h/);
});
