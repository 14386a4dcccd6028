import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../../client/client.ts";
import type { MeridianClient } from "../../client/types.ts";
import type { SerialTask } from "../../core/graph.ts";
import type { LimitsFile } from "../../core/limits-file.ts";
import type { MeridianError } from "../../core/errors.ts";
import { createDueRuns } from "../../schedules/create-runs.ts";
import { forgetTriggers } from "../../db/triggers.ts";
import { createPool } from "../../platform/pg.ts";
import { fakeTemporal, intervalsOf, storeDag } from "../schedules/rows.ts";
import { serialTask } from "../support/serial.ts";
import { applyLimits, limitsFile } from "../support/limits.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let now: number;
beforeAll(async () => {
  database = await createTestDatabase("t", 30);
});
afterAll(async () => await database.drop());
beforeEach(async () => {
  await database.pool.query(
    `truncate app.dag, app.dag_version, app.run_key, app.dag_run, app.lease, app.account, app.audit, app.cell, app.limits,
              app.trigger_hit`,
  );
  now = Date.parse("2026-05-09T10:11:12.345Z");
});

/** A process of its own: its own client, its own connections. */
function clientOf(pool = database.pool): MeridianClient {
  const starter = fakeTemporal().starter(pool);
  return createClient({ pool, starter, clock: () => now });
}

async function given(
  tasks: readonly SerialTask[],
  limits: Partial<LimitsFile>,
  { id = "sales", tenant = null as string | null, maxActiveRuns = 16 } = {},
): Promise<MeridianClient> {
  const { pool } = database;
  await storeDag(pool, { id, schedule: "@daily", startDate: "2026-05-01T00:00:00Z", maxActiveRuns });
  await pool.query("update app.dag set tenant = $2 where dag_id = $1", [id, tenant]);
  await pool.query(
    "update app.dag_version set graph = jsonb_build_object('zone', 'UTC', 'tasks', $2::jsonb) where dag_id = $1",
    [id, JSON.stringify(tasks)],
  );
  await pool.query(
    "insert into app.account (key, slots) values ('pool:default_pool', 100) on conflict do nothing",
  );
  await applyLimits(pool, limitsFile(limits));
  return clientOf();
}

const trigger = async (
  client: MeridianClient,
  more: Partial<Parameters<MeridianClient["trigger"]>[0]> = {},
) => await client.trigger({ dagId: "sales", logicalAt: null, conf: {}, who: "ada", ...more });
const refusal = async (call: Promise<unknown>): Promise<MeridianError> =>
  await call.then(
    () => {
      throw new Error("it was made");
    },
    (error: unknown) => error as MeridianError,
  );
/** What the schedule makes. */
const makeDue = async (dagIds: readonly string[]): Promise<number> =>
  await createDueRuns(
    { pool: database.pool, starter: fakeTemporal().starter(database.pool), clock: () => now },
    0,
    1,
    dagIds,
  );
const runs = async (dagId = "sales") => (await intervalsOf(database.pool, dagId)).length;

/** The outcomes of many triggers at once: how many were made, and the codes of the rest. */
async function storm(calls: readonly Promise<unknown>[]): Promise<{ made: number; refused: string[] }> {
  const ended = await Promise.allSettled(calls);
  const refused = ended.flatMap((one) =>
    one.status === "rejected" ? [(one.reason as MeridianError).code] : [],
  );
  return { made: ended.length - refused.length, refused: [...new Set(refused)] };
}

describe("what one run by hand may ask for", () => {
  const train = serialTask("train", [], { cores: 40 });

  it("B17: 40 cores asked, cap 16: refused with both numbers, the task, and what to do; no run is made", async () => {
    const client = await given([serialTask("load"), train], { adhoc: { maxCores: 16 } });
    expect(await refusal(trigger(client))).toMatchObject({
      kind: "refused",
      code: "over_cap",
      message:
        '40 cores asked, cap 16: task "train" of dag "sales" asks for more than a run by hand may use; ' +
        "give it fewer cores, leave the run to the DAG's schedule, or raise adhoc.maxCores in the limits file; no run was made",
      details: { taskId: "train", cores: 40, cap: 16 },
    });
    expect(await runs()).toBe(0);
  });

  it("B17: 16 cores asked, cap 16: it runs; and its request carries its cores", async () => {
    const client = await given(
      [serialTask("load", [], { cores: 16 }), serialTask("half", [], { cores: 0.5 })],
      {
        adhoc: { maxCores: 16 },
      },
    );
    await trigger(client);
    const { rows } = await database.pool.query(
      "select task_id, cores from app.lease where task_id <> '' order by task_id",
    );
    expect(rows).toEqual([
      { task_id: "half", cores: 0.5 },
      { task_id: "load", cores: 16 },
    ]);
  });

  it("B17: the cap is no concern of scheduled runs", async () => {
    await given([train], { adhoc: { maxCores: 16 } });
    expect(await makeDue(["sales"])).toBe(1);
    const { rows } = await database.pool.query("select cores from app.lease where task_id = 'train'");
    expect(rows).toEqual([{ cores: 40 }]);
  });
});

describe("B15: queues", () => {
  const queues: LimitsFile["queues"] = {
    gpu: { tenants: ["ml", "search"], otherwise: "refuse" },
    big: { tenants: ["ml"], otherwise: { redirect: "small" } },
  };
  const tasks = [serialTask("load"), serialTask("train", [], { queue: "gpu" })];

  it("B15: a queue of another tenant is refused: task, queue, tenant and who may use it are named", async () => {
    const client = await given(tasks, { queues }, { tenant: "web" });
    expect(await refusal(trigger(client))).toMatchObject({
      kind: "refused",
      code: "queue_refused",
      message: expect.stringContaining(
        'task "train" asks for queue "gpu", and tenant "web" may not use it: it is for tenants "ml", "search"',
      ),
      details: { tasks: ["train"] },
    });
    expect(await runs()).toBe(0);
  });

  it("B15: its own tenant runs there", async () => {
    const client = await given(tasks, { queues }, { tenant: "ml" });
    await trigger(client);
    expect(await runs()).toBe(1);
  });

  it("B15: a redirected task runs on the other queue; a refused one of a scheduled run fails where all can run it", async () => {
    await given([...tasks, serialTask("join", [], { queue: "big" })], { queues }, { tenant: "web" });
    const starter = fakeTemporal().starter(database.pool);
    const { rows } = await database.pool.query<{ version: number }>("select version from app.dag");
    const version = await starter.versions.load(rows[0]!.version);
    expect(version.graph.tasks.map(({ id, queue, refused }) => [id, queue, refused === undefined])).toEqual([
      ["load", "default", true],
      ["train", "default", false],
      ["join", "small", true],
    ]);
    expect(version.plan.tasks[2]!.queue).toBe("small");
  });

  it("B15: a file that is applied counts for what opens from then on; what was opened keeps its queues", async () => {
    await given(tasks, {}, { tenant: "web" });
    const starter = fakeTemporal().starter(database.pool);
    const { rows } = await database.pool.query<{ version: number }>("select version from app.dag");
    const before = await starter.versions.load(rows[0]!.version);
    await applyLimits(database.pool, limitsFile({ queues }));
    await expect
      .poll(async () => (await starter.versions.load(rows[0]!.version)).graph.tasks[1]!.queue, {
        timeout: 5_000,
      })
      .toBe("default");
    expect(before.graph.tasks[1]!.queue).toBe("gpu");
  });
});

describe("B15: rates", () => {
  const perDag: LimitsFile["rates"] = [{ per: "dag", triggers: 3, withinMs: 60_000 }];

  it("B15: over a rate of its DAG: which one, how many in which time, and when again", async () => {
    const client = await given([serialTask("load")], { rates: perDag });
    for (let i = 0; i < 3; i++) await trigger(client);
    const error = await refusal(trigger(client));
    expect(error).toMatchObject({
      kind: "limited",
      code: "rate_limited",
      message: expect.stringMatching(
        /^dag "sales" may have 3 triggers in 1 min, and had them: again in (?:1 min|5\d s); no run was made$/,
      ),
      details: { per: "dag", name: "sales", triggers: 3, withinMs: 60_000 },
    });
    expect(error.details["retryAfterMs"]).toBeGreaterThan(50_000);
    expect(error.details["retryAfterMs"]).toBeLessThanOrEqual(60_000);
    expect(await runs()).toBe(3);
  });

  it("B15: the window slides: as the oldest leaves it, one more is taken", async () => {
    const client = await given([serialTask("load")], { rates: [{ per: "dag", triggers: 2, withinMs: 900 }] });
    await trigger(client);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await trigger(client);
    const wait = (await refusal(trigger(client))).details["retryAfterMs"] as number;
    expect(wait).toBeLessThan(450);
    await new Promise((resolve) => setTimeout(resolve, wait + 5));
    await trigger(client);
    expect((await refusal(trigger(client))).code).toBe("rate_limited");
    expect(await runs()).toBe(3);
  });

  it("B15: 20 callers at once over four processes: exactly 7 of 7 are taken", async () => {
    await given([serialTask("load")], { rates: [{ per: "dag", triggers: 7, withinMs: 60_000 }] });
    const pools = Array.from({ length: 4 }, () =>
      createPool({ url: database.url, max: 5, applicationName: "test" }, () => {}),
    );
    const clients = pools.map(clientOf);
    const at = (i: number) => Date.parse("2026-05-01T00:00:00Z") + i;
    const calls = Array.from({ length: 20 }, async (_, i) =>
      trigger(clients[i % 4]!, { logicalAt: at(i), who: `caller${i}` }),
    );
    expect(await storm(calls)).toEqual({ made: 7, refused: ["rate_limited"] });
    expect(await runs()).toBe(7);
    await Promise.all(pools.map(async (pool) => await pool.end()));
  });

  it("B15: 20 callers at once without a date, in one batch: exactly 7 of 7 are taken", async () => {
    const client = await given([serialTask("load")], {
      rates: [{ per: "dag", triggers: 7, withinMs: 60_000 }],
    });
    expect(await storm(Array.from({ length: 20 }, async () => await trigger(client)))).toEqual({
      made: 7,
      refused: ["rate_limited"],
    });
    expect(await runs()).toBe(7);
  });

  it("B15: a rate counts by tenant over its DAGs, by caller over all, and only those its pattern fits", async () => {
    await given([serialTask("load")], {}, { id: "stock", tenant: "web" });
    await given([serialTask("load")], {}, { id: "other" });
    const rates: LimitsFile["rates"] = [
      { per: "tenant", triggers: 2, withinMs: 60_000 },
      { per: "caller", match: "ci-*", triggers: 1, withinMs: 60_000 },
    ];
    const client = await given([serialTask("load")], { rates }, { tenant: "web" });
    await trigger(client);
    await trigger(client, { dagId: "stock" });
    expect((await refusal(trigger(client))).message).toContain('tenant "web" may have 2 triggers in 1 min');
    for (let i = 0; i < 3; i++) await trigger(client, { dagId: "other" });
    await trigger(client, { dagId: "other", who: "ci-main" });
    expect((await refusal(trigger(client, { dagId: "other", who: "ci-main" }))).message).toContain(
      'caller "ci-main" may have 1 trigger in 1 min',
    );
    await trigger(client, { dagId: "other", who: "ci-other" });
  });

  it("B15: what makes no run costs nothing: a repeat of a key, a date that has its run, a refused conf", async () => {
    const client = await given([serialTask("load")], { rates: perDag });
    const once = { key: "k", at: now };
    const made = await trigger(client, { once });
    const logicalAt = Date.parse("2026-05-03T00:00:00Z");
    await trigger(client, { logicalAt });
    for (let i = 0; i < 5; i++) {
      expect((await trigger(client, { once })).runId).toBe(made.runId);
      expect((await refusal(trigger(client, { logicalAt }))).code).toBe("run_exists");
    }
    await trigger(client);
    expect((await refusal(trigger(client))).code).toBe("rate_limited");
    // Nor are these refused when nothing is left.
    expect((await trigger(client, { once })).runId).toBe(made.runId);
    expect((await refusal(trigger(client, { logicalAt }))).code).toBe("run_exists");
  });

  it("B15: of several rates that stand against a trigger the one is told that does so longest", async () => {
    const rates: LimitsFile["rates"] = [
      { per: "dag", triggers: 2, withinMs: 60_000 },
      { per: "dag", triggers: 3, withinMs: 3_600_000 },
      { per: "caller", triggers: 3, withinMs: 120_000 },
    ];
    const client = await given([serialTask("load")], { rates });
    await trigger(client);
    await trigger(client);
    expect((await refusal(trigger(client))).message).toContain('dag "sales" may have 2 triggers in 1 min,');
    await database.pool.query("update app.trigger_hit set at = at - interval '61 seconds'");
    await trigger(client);
    expect((await refusal(trigger(client))).message).toMatch(
      /dag "sales" may have 3 triggers in 1 h, and had them: again in 5\d min/,
    );
    expect((await database.pool.query("select from app.trigger_hit")).rowCount).toBe(6);
  });

  it("B15: scheduled runs are neither counted nor refused", async () => {
    const client = await given([serialTask("load")], {
      rates: [{ per: "dag", triggers: 1, withinMs: 60_000 }],
    });
    await trigger(client);
    expect(await makeDue(["sales"])).toBe(1);
    expect((await database.pool.query("select from app.trigger_hit")).rowCount).toBe(1);
  });

  it("B15: triggers that no rate counts any more are forgotten", async () => {
    const client = await given([serialTask("load")], { rates: perDag });
    await trigger(client);
    await forgetTriggers(database.pool, 60_000);
    expect((await database.pool.query("select from app.trigger_hit")).rowCount).toBe(1);
    await forgetTriggers(database.pool, 0);
    expect((await database.pool.query("select from app.trigger_hit")).rowCount).toBe(0);
  });
});

describe("B15: bounded queues", () => {
  it("B15: more waiting runs of a DAG than may wait are refused with both numbers", async () => {
    const client = await given([serialTask("load")], { queued: { mostRuns: 2 } }, { maxActiveRuns: 1 });
    for (let i = 0; i < 3; i++) await trigger(client);
    expect(await refusal(trigger(client))).toMatchObject({
      kind: "limited",
      code: "too_many_queued",
      message:
        '2 runs wait for a place in dag "sales", and at most 2 may: trigger again when some have begun; no run was made',
      details: { of: "dag", name: "sales", waiting: 2, most: 2, retryAfterMs: 10_000 },
    });
    expect(await runs()).toBe(3);
  });

  it("B15: 20 callers at once, 4 places and 3 that may wait: exactly 7 are made", async () => {
    await given([serialTask("load")], { queued: { mostRuns: 3 } }, { maxActiveRuns: 4 });
    const clients = [clientOf(), clientOf(), clientOf()];
    const calls = Array.from({ length: 20 }, async (_, i) =>
      trigger(clients[i % 3]!, { logicalAt: Date.parse("2026-05-01T00:00:00Z") + i }),
    );
    expect(await storm(calls)).toEqual({ made: 7, refused: ["too_many_queued"] });
  });

  it("B15: a tenant's waiting runs are bounded over its DAGs; scheduled runs are never refused", async () => {
    await given([serialTask("load")], {}, { id: "stock", tenant: "web", maxActiveRuns: 1 });
    const client = await given(
      [serialTask("load")],
      { queued: { mostRunsPerTenant: 2 } },
      { tenant: "web", maxActiveRuns: 1 },
    );
    await trigger(client);
    await trigger(client, { dagId: "stock" });
    await trigger(client);
    await trigger(client, { dagId: "stock" });
    expect((await refusal(trigger(client))).details).toMatchObject({
      of: "tenant",
      name: "web",
      waiting: 2,
      most: 2,
    });
    expect(await makeDue(["sales", "stock"])).toBe(2);
  });
});
