import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { setDial } from "../../db/pools/dial.ts";
import { startProduct, until, type Product } from "../support/product.ts";

/** Tenants, and how many instances their runs have. */
const DAGS = [
  ["a", 20],
  ["b", 5],
  ["c", 25],
  ["b", 10],
  ["b", 1],
  ["a", 4],
] as const;

let product: Product;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "meridian-sharing-"));
  product = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "15000" } });
  const { pool } = product;
  await pool.query(
    `insert into app.account (key, slots, cohort) values
     ('pool:shared', 45, null), ('cohort:all', 45, null), ('tenant:a', 20, 'all'), ('tenant:b', 15, 'all'), ('tenant:c', 10, 'all')`,
  );
  for (const [name, n] of DAGS)
    await product.save(
      `${name}${n}.ts`,
      `import { existsSync } from "node:fs";
       dag("share_${name}${n}", { schedule: null }, () => {
         const items = ${JSON.stringify(Array.from({ length: n }, (_, i) => i))};
         task("work", { expand: { i: items }, pool: "shared" }, async ({ signal, inputs }) => {
           while (!existsSync(${JSON.stringify(folder)} + "/${name}")) {
             signal.throwIfAborted();
             await new Promise((done) => setTimeout(done, 25));
           }
           return inputs.i;
         });
       });`,
    );
  await pool.query("update app.dag set tenant = substr(dag_id, 7, 1)");
}, 60_000);
afterAll(async () => {
  await product.stop();
  rmSync(folder, { recursive: true, force: true });
});

const trigger = async (name: string, n: number): Promise<string> =>
  (
    await product.client.trigger({
      dagId: `share_${name}${n}`,
      logicalAt: null,
      conf: {},
      who: "test",
    })
  ).runId;

const becomes = async (check: () => Promise<boolean>, withinMs: number): Promise<true> =>
  await until(async () => ((await check()) ? true : null), withinMs);

/** Bodies at work in the shared pool, by tenant: what is running, not what is granted. */
async function running(): Promise<Record<string, number>> {
  const { rows } = await product.pool.query<{ tenant: string; n: number }>(
    `select r.tenant, count(*)::int as n from app.cell c join app.dag_run r using (run)
     where c.task_id = 'work' and c.state = 'running' group by 1`,
  );
  return Object.fromEntries(rows.map((row) => [row.tenant, row.n]));
}

describe("B13: tenants on real servers", () => {
  it(
    "B13: A 20, B 15, C 10, capacity 45: C runs 20 of 25 while B uses 5; B gets its 15 within seconds, C falls back to 10, and no try is used up",
    { timeout: 90_000 },
    async () => {
      await trigger("a", 20);
      await trigger("b", 5);
      await becomes(async () => (await running())["b"] === 5 && (await running())["a"] === 20, 20_000);
      const c = await trigger("c", 25);
      await becomes(async () => (await running())["c"] === 20, 20_000);
      const { rows: waiting } = await product.pool.query<{ n: number }>(
        "select count(*)::int as n from app.lease l join app.dag_run r using (run) where r.tenant = 'c' and l.granted_at is null and l.task_id = 'work'",
      );
      expect(waiting[0]!.n).toBe(5);
      const asked = Date.now();
      await trigger("b", 10);
      await becomes(async () => {
        const now = await running();
        return now["b"] === 15 && now["c"] === 10;
      }, 15_000);
      expect(Date.now() - asked).toBeLessThan(10_000);
      expect((await running())["a"]).toBe(20);
      const { rows: tries } = await product.pool.query<{ tenant: string; n: number; message: string }>(
        `select r.tenant, count(*)::int as n, t.error ->> 'message' as message from app.task_try t join app.dag_run r using (run)
         where t.state = 'requeued' group by 1, 3`,
      );
      const given = tries.filter((one) => one.message.startsWith("the try gave its slots back"));
      expect(given).toMatchObject([
        {
          tenant: "c",
          message:
            'the try gave its slots back: tenant "b" needs what it had lent; it runs again, and no retry is used up',
        },
      ]);
      const { rowCount: alerts } = await product.pool.query("select from app.alert where kind = 'preempted'");
      // A thread that a crowded machine kept silent takes others along, who ask again: then more is asked back.
      if (tries.length === 1) expect([given[0]!.n, alerts]).toEqual([10, 10]);
      else expect(given[0]!.n).toBeGreaterThanOrEqual(10);
      for (const name of ["a", "b"]) writeFileSync(join(folder, name), "");
      // What comes free goes to who waits: C has all its 25.
      await becomes(async () => (await running())["c"] === 25, 20_000);
      writeFileSync(join(folder, "c"), "");
      const ended = await product.ended("share_c25", c, 30_000);
      expect(ended.state).toBe("success");
      expect(ended.tries.filter((one) => one.task_id === "work" && one.state === "success")).toHaveLength(25);
      const { rows: left } = await product.pool.query("select from app.lease where task_id <> ''");
      expect(left).toEqual([]);
    },
  );

  it("B12: a run's workflow has the class and the tenant of its account book as Temporal's priority and fairness", async () => {
    const runId = await trigger("b", 1);
    const { raw } = await product.temporal.workflow.getHandle(workflowIdOf("share_b1", runId)).describe();
    expect(raw.workflowExecutionInfo?.priority).toMatchObject({
      priorityKey: 3,
      fairnessKey: "b",
      fairnessWeight: 15,
    });
    await product.ended("share_b1", runId, 20_000);
  });

  it("B16: preempting by the dial stops bodies within a second, and they run again when it is off", async () => {
    rmSync(join(folder, "a"));
    const runId = await trigger("a", 4);
    await becomes(async () => (await running())["a"] === 4, 20_000);
    const off = { tries: null, belowClass: null, belowPriority: null, who: "ada" };
    const from = Date.now();
    const { preempted } = await setDial(product.pool, { ...off, tries: 1, reason: "drill" }, true);
    expect(preempted).toBe(3);
    await becomes(async () => (await running())["a"] === 1, 5_000);
    expect(Date.now() - from).toBeLessThan(2_000);
    await setDial(product.pool, { ...off, reason: "over" }, false);
    await becomes(async () => (await running())["a"] === 4, 10_000);
    writeFileSync(join(folder, "a"), "");
    const run = await product.ended("share_a4", runId, 20_000);
    expect(run.state).toBe("success");
  });
});
