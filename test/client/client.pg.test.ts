import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { dag, task } from "../../authoring/index.ts";
import { createClient } from "../../client/client.ts";
import type { MeridianClient } from "../../client/types.ts";
import { createDueRuns } from "../../schedules/create-runs.ts";
import { fakeTemporal, intervalsOf, storeDag, type FakeTemporal } from "../schedules/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let temporal: FakeTemporal;
let client: MeridianClient;
let now: number;
let errors: string[];
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => await database.drop());
beforeEach(async () => {
  await database.pool.query(
    "truncate app.dag, app.dag_version, app.run_key, app.dag_run, app.lease, app.account, app.audit",
  );
  temporal = fakeTemporal();
  errors = [];
  now = Date.parse("2026-05-09T10:11:12.345Z");
  const deps = {
    pool: database.pool,
    starter: temporal.starter(database.pool),
    clock: () => now,
  };
  client = createClient({
    ...deps,
    onDue: async (dagIds) => await createDueRuns(deps, 0, 1, dagIds),
    onError: (_error, what) => errors.push(what),
  });
  await storeDag(database.pool, { id: "sales_daily", schedule: "@daily", startDate: "2026-05-01T00:00:00Z" });
});

const trigger = async (logicalDate: string | null, dagId = "sales_daily") =>
  await client.trigger({
    dagId,
    logicalAt: logicalDate === null ? null : Date.parse(logicalDate),
    conf: { by: "hand" },
    who: "ada",
  });
const audits = async () =>
  (await database.pool.query("select who, action, dag_id, run_id, detail from app.audit order by id")).rows;

describe("B3 C8: the client", () => {
  it("an unknown DAG is not found, with the nearest id; nothing is written", async () => {
    const missing = {
      kind: "not_found",
      code: "no_dag",
      message: `dag "sales_dayly" does not exist; did you mean "sales_daily"?`,
    };
    await expect(trigger(null, "sales_dayly")).rejects.toMatchObject(missing);
    await expect(client.pause("sales_dayly", "ada", null)).rejects.toMatchObject(missing);
    await expect(client.unpause("sales_dayly", "ada")).rejects.toMatchObject(missing);
    await expect(trigger(null, "zzz")).rejects.toMatchObject({ message: `dag "zzz" does not exist` });
    expect(await audits()).toEqual([]);
  });

  it("an inactive DAG is refused, and what to do is said", async () => {
    await database.pool.query("update app.dag set active = false");
    await expect(trigger(null)).rejects.toMatchObject({
      kind: "refused",
      code: "inactive_dag",
      message: expect.stringContaining("bring it back to the DAG folder"),
    });
    expect(temporal.started).toEqual([]);
  });

  it("B12: a run by hand is of its DAG's tenant and class, unless a rule of the limits file is for its caller", async () => {
    await database.pool.query(
      `update app.dag set owner = 'ann', tenant = 'sales';
       truncate app.limits;
       insert into app.limits (who, spec) values ('t', '{"rules": [
         {"caller": "*@ci", "owner": "ann", "class": "best_effort"}, {"dags": "*", "tenant": "sales"},
         {"caller": "ada", "tenant": "never"}]}')`,
    );
    const by = async (who: string) =>
      await client.trigger({ dagId: "sales_daily", logicalAt: null, conf: {}, who });
    await by("ada");
    await by("bot@ci");
    const { rows } = await database.pool.query(
      "select triggered_by, tenant, class from app.dag_run order by run",
    );
    expect(rows).toEqual([
      { triggered_by: "ada", tenant: "sales", class: 1 },
      { triggered_by: "bot@ci", tenant: "sales", class: 0 },
    ]);
    await database.pool.query("truncate app.limits");
  });

  it("A12: a conf that does not fit the DAG's params is refused with each path; no run is made", async () => {
    const { graph } = dag(
      "sales_daily",
      {
        schedule: "@daily",
        params: z.object({ region: z.enum(["eu", "us"]).default("eu"), limit: z.int().optional() }),
      },
      () => void task("only", () => 1),
    );
    await database.pool.query("update app.dag_version set graph = $1", [JSON.stringify(graph)]);
    const asked = async (conf: Record<string, unknown>) =>
      await client.trigger({ dagId: "sales_daily", logicalAt: null, conf, who: "ada" });
    await expect(asked({ region: "de", limti: 5 })).rejects.toMatchObject({
      kind: "refused",
      code: "bad_params",
      message: expect.stringContaining(
        `conf does not fit the params of dag "sales_daily": limti: does not exist; did you mean "limit"?; region: Invalid option: expected one of "eu"|"us"`,
      ),
      details: {
        errors: [
          { path: "limti", message: `does not exist; did you mean "limit"?` },
          { path: "region", message: `Invalid option: expected one of "eu"|"us"` },
        ],
      },
    });
    expect(await intervalsOf(database.pool, "sales_daily")).toEqual([]);
    expect(await audits()).toEqual([]);
    await asked({ limit: 5 });
    await asked({});
    const { rows } = await database.pool.query("select conf from app.dag_run order by run_id");
    // As it came: defaults are filled in where the bodies run.
    expect(rows.map((row) => row.conf)).toEqual([{ limit: 5 }, {}]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, 8.64e15, -1e15])(
    "bad-dates: logical date %d is refused in words",
    async (logicalAt) => {
      const asked = client.trigger({ dagId: "sales_daily", logicalAt, conf: {}, who: "ada" });
      await expect(asked).rejects.toMatchObject({ kind: "refused", code: "bad_logical_date" });
    },
  );

  it("P8: a date on a boundary gets the schedule's interval; P13: one beside it gets [t, t)", async () => {
    await trigger("2026-05-03T00:00:00Z");
    await trigger("2026-05-03T00:00:01Z");
    expect(await intervalsOf(database.pool, "sales_daily")).toEqual([
      "2026-05-03T00:00:00.000Z/2026-05-04T00:00:00.000Z",
      "2026-05-03T00:00:01.000Z/2026-05-03T00:00:01.000Z",
    ]);
  });

  it("P13: without a date it is now, in ms, made unique", async () => {
    const runs = await Promise.all([1, 2, 3].map(async () => await trigger(null)));
    expect(runs.map((run) => run.runId).toSorted()).toEqual([
      "2026-05-09T10-11-12-345Z",
      "2026-05-09T10-11-12-346Z",
      "2026-05-09T10-11-12-347Z",
    ]);
    expect(temporal.started.toSorted()).toEqual(runs.map((run) => run.workflowId).toSorted());
  });

  it("now-on-a-boundary: a run without a date never takes the schedule's place", async () => {
    now = Date.parse("2026-05-10T00:00:00.000Z");
    expect((await trigger(null)).runId).toBe("2026-05-10T00-00-00-001Z");
    now -= 1;
    expect((await trigger(null)).runId).toBe("2026-05-09T23-59-59-999Z");
    expect((await trigger(null)).runId, "made unique over the boundary").toBe("2026-05-10T00-00-00-002Z");
    expect((await intervalsOf(database.pool, "sales_daily")).slice(1, 2)).toEqual([
      "2026-05-10T00:00:00.001Z/2026-05-10T00:00:00.001Z",
    ]);
    now = Date.parse("2026-05-11T00:00:00.000Z");
    await client.unpause("sales_daily", "ada");
    expect(await intervalsOf(database.pool, "sales_daily")).toContain(
      "2026-05-10T00:00:00.000Z/2026-05-11T00:00:00.000Z",
    );
  });

  it("P10 after-retention: a date whose run was dropped from the big table is taken all the same", async () => {
    await trigger("2026-05-03T00:00:00Z");
    await database.pool.query("delete from app.dag_run");
    await database.pool.query("delete from app.lease");
    await expect(trigger("2026-05-03T00:00:00Z")).rejects.toMatchObject({
      kind: "conflict",
      code: "run_exists",
      details: { runId: "2026-05-03T00-00-00Z" },
    });
    expect(await intervalsOf(database.pool, "sales_daily")).toEqual([]);
    expect(temporal.started).toHaveLength(1);
  });

  it("temporal-away: the run is stored, and answered as queued; the outbox will start it", async () => {
    temporal.onStart = async () => {
      throw new Error("unavailable");
    };
    const run = await trigger("2026-05-03T00:00:00Z");
    expect(run.state).toBe("queued");
    expect(errors).toEqual(["starting sales_daily 2026-05-03T00-00-00Z failed; it will be tried again"]);
    const { rows } = await database.pool.query(
      "select granted_at is not null as granted, known from app.lease",
    );
    expect(rows).toEqual([{ granted: true, known: false }]);
  });

  it("C8: who triggered, paused and unpaused is kept; a refused trigger leaves no trace", async () => {
    await trigger("2026-05-03T00:00:00Z");
    await expect(trigger("2026-05-03T00:00:00Z")).rejects.toMatchObject({ code: "run_exists" });
    await client.pause("sales_daily", "bob", "a move");
    await client.unpause("sales_daily", "eve");
    expect(await audits()).toEqual([
      { who: "ada", action: "trigger", dag_id: "sales_daily", run_id: "2026-05-03T00-00-00Z", detail: {} },
      { who: "bob", action: "pause", dag_id: "sales_daily", run_id: null, detail: { reason: "a move" } },
      { who: "eve", action: "unpause", dag_id: "sales_daily", run_id: null, detail: { reason: null } },
    ]);
    const { rows } = await database.pool.query("select paused, pause_reason, paused_by from app.dag");
    expect(rows).toEqual([{ paused: false, pause_reason: null, paused_by: null }]);
  });
});
