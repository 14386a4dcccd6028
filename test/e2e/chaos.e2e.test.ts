import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { setDial } from "../../db/pools/dial.ts";
import { startProcess, type Started } from "../support/processes.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

/** The named size is five minutes. */
const CHAOS_MS = process.env["MERIDIAN_TEST_FULL"] === "1" ? 300_000 : 20_000;
const WORKERS = 4;
const RUNS_AT_ONCE = 6;

let product: Product;
const workers: Started[] = [];

const startWorker = async (): Promise<Started> =>
  await startProcess(["worker"], product.env, /worker for default is running/);

beforeAll(async () => {
  product = await startProduct({
    worker: false,
    env: { MERIDIAN_THREADS: "1", MERIDIAN_LOST_AFTER_MS: "3000" },
  });
  await product.pool.query(
    `insert into app.account (key, slots, cohort) values
     ('pool:three', 3, null), ('pool:many', 12, null), ('cohort:all', 8, null), ('tenant:a', 5, 'all'), ('tenant:b', 3, 'all')`,
  );
  const file = (id: string, options: string, body: string): string =>
    `const nap = (ms) => new Promise((done) => setTimeout(done, ms));
     dag("${id}", { schedule: null, maxActiveRuns: 20, defaults: { retries: 9, retryDelay: 10 }${options} }, () => { ${body} });`;
  await product.save(
    "a.ts",
    file(
      "chaos_a",
      "",
      `const list = task("list", () => [0, 1, 2, 3, 4, 5]);
       const each = task("each", { expand: { i: list }, pool: "many", poolSlots: 2, maxActivePerDag: 4 }, async ({ inputs }) => { await nap(150 + inputs.i * 60); return inputs.i; });
       task("sum", { inputs: { each } }, ({ inputs }) => inputs.each.length);`,
    ),
  );
  await product.save(
    "b.ts",
    file(
      "chaos_b",
      `, maxActiveTasks: 5`,
      `let last = task("t0", { pool: "three" }, () => nap(100));
       for (let i = 1; i < 5; i++) last = task("t" + i, { after: [last], pool: "three", poolSlots: i % 3 + 1 }, () => nap(150));
       task("wide", { expand: { i: [1, 2, 3, 4, 5, 6, 7, 8] }, pool: "many" }, () => nap(250));`,
    ),
  );
  await product.pool.query("update app.dag set tenant = substr(dag_id, 7, 1)");
  workers.push(...(await Promise.all(Array.from({ length: WORKERS }, startWorker))));
}, 120_000);
afterAll(async () => {
  await Promise.all(workers.map(async (worker) => await worker.kill()));
  await product.stop();
});

/** What stands in the account book beyond its ceilings, in words. */
async function overCommitted(): Promise<string[]> {
  const { rows } = await product.pool.query<{ key: string; used: number; slots: number }>(
    `with draws as (
       select l.account as key, l.slots as n from app.lease l where l.granted_at is not null
       union all
       select k.key, case when k.key like 'task%' then 1 else l.slots end
       from app.lease l cross join unnest(l.limits) as k(key) where l.granted_at is not null and k.key not like 'tenant:%'
     )
     select d.key, sum(d.n)::int as used, a.slots from draws d join app.account a using (key)
     group by d.key, a.slots having sum(d.n) > a.slots`,
  );
  return rows.map(({ key, used, slots }) => `${key}: ${used} of ${slots}`);
}

describe("B11 B6: chaos", () => {
  it(
    `B11 K47: ${WORKERS} workers, one after the other killed with -9 for ${CHAOS_MS / 1000} s, runs cancelled and terminated, the dial turned: no over-commit, no leaked lease, nothing lost`,
    { timeout: CHAOS_MS + 240_000 },
    async () => {
      const runs: { dagId: string; runId: string; end: "own" | "cancelled" | "terminated" }[] = [];
      const seen: string[] = [];
      let isOver = false;
      const watching = (async () => {
        while (!isOver) {
          seen.push(...(await overCommitted()));
          await sleep(15);
        }
      })();
      const killing = (async () => {
        for (let n = 0; !isOver; n++) {
          await sleep(1_000 + (n % 3) * 400);
          const at = n % WORKERS;
          await workers[at]!.kill();
          workers[at] = await startWorker();
        }
      })();
      const off = { tries: null, belowClass: null, belowPriority: null, who: "chaos" };
      const turning = (async () => {
        for (let n = 0; !isOver; n++) {
          await sleep(3_000);
          await setDial(product.pool, { ...off, tries: 3, reason: "chaos" }, n % 2 === 0);
          await sleep(700);
          await setDial(product.pool, { ...off, reason: "off" }, false);
        }
      })();
      const until_ = Date.now() + CHAOS_MS;
      const trigger = async (n: number): Promise<void> => {
        const dagId = n % 2 === 0 ? "chaos_a" : "chaos_b";
        const { runId } = await product.client.trigger({ dagId, logicalAt: null, conf: {}, who: "test" });
        const end = n % 7 === 3 ? "cancelled" : n % 7 === 5 ? "terminated" : "own";
        runs.push({ dagId, runId, end });
        if (end === "own") return;
        await sleep(700);
        const handle = product.temporal.workflow.getHandle(workflowIdOf(dagId, runId));
        // It may be over, or not begun.
        await (end === "cancelled" ? handle.cancel() : handle.terminate("chaos")).catch(() => undefined);
      };
      for (let n = 0; Date.now() < until_; n++) {
        await trigger(n);
        await until(
          async () => {
            const { rows } = await product.pool.query<{ open: number }>(
              "select count(*)::int as open from app.dag_run where state in ('queued', 'running')",
            );
            return rows[0]!.open < RUNS_AT_ONCE || Date.now() > until_ ? true : null;
          },
          CHAOS_MS + 60_000,
          "room for a run",
        );
      }
      isOver = true;
      await Promise.all([killing, watching, turning]);
      await setDial(product.pool, { ...off, reason: "over" }, false);

      for (const { dagId, runId, end } of runs) {
        const run = await product.ended(dagId, runId, 120_000);
        if (end === "own") expect(run.state, JSON.stringify(run)).toBe("success");
        const { rows } = await product.pool.query<{ open: number; done: number; twice: number; all: number }>(
          `select count(*)::int as all, count(*) filter (where c.state = 'success')::int as done,
                  count(*) filter (where c.state in ('none', 'queued', 'running', 'deferred', 'up_for_retry'))::int as open,
                  count(*) filter (where (select count(*) from app.task_try t where t.run = c.run and t.task_id = c.task_id
                    and t.map_index = c.map_index and t.state = 'success') > 1)::int as twice
           from app.cell c where c.run = $1 and c.state <> 'removed'`,
          [run.run],
        );
        expect([rows[0]!.open, rows[0]!.twice]).toEqual([0, 0]);
        if (end === "own") expect(rows[0]!.done).toBe(rows[0]!.all);
      }
      expect(seen).toEqual([]);
      expect(runs.length).toBeGreaterThan(CHAOS_MS / 4_000);
      await until(
        async () => ((await product.pool.query("select from app.lease")).rowCount === 0 ? true : null),
        30_000,
        "an empty account book",
      );
    },
  );
});
