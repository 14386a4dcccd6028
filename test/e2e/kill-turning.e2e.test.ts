import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executionsOf, partsOf } from "../support/executions.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProcess, type Started } from "../support/processes.ts";
import { startProduct, until, type Product } from "../support/product.ts";

const KILLS = process.env["MERIDIAN_TEST_FULL"] === "1" ? 12 : 1;

let product: Product;
let runs: Runs;
let worker: Started | undefined;
beforeAll(async () => {
  product = await startProduct({ worker: false, env: { MERIDIAN_TURN_OVER_EVENTS: "80" } });
  runs = new Runs(product);
});
afterAll(async () => {
  await worker?.kill();
  await product.stop();
});

const startWorker = async (): Promise<void> => {
  worker = await startProcess(["worker"], product.env, /worker for default is running/);
};

describe("B3 B7: kill -9 of the worker while a run turns over", () => {
  it(
    `B3: ${KILLS} kills, each while the run is about to turn over or has just done so: all tasks end, once with effect`,
    { timeout: 900_000 },
    async () => {
      await startWorker();
      await product.save(
        "turning.ts",
        dagFile(
          "kill_turning",
          `const items = task("items", () => Array.from({ length: ${KILLS * 60} }, (_, i) => i));
           const each = task("each", { expand: { n: items }, maxActivePerRun: 6, retries: 3, retryDelay: 10 }, async ({ inputs }) => {
             await new Promise((done) => setTimeout(done, 100));
             return inputs.n;
           });
           task("sum", { inputs: { each } }, ({ inputs }) => inputs.each.reduce((a, b) => a + b, 0));`,
        ),
      );
      const runId = await runs.begin("kill_turning");
      const count = async (): Promise<number> => (await executionsOf(product, "kill_turning", runId)).length;
      for (let kill = 0; kill < KILLS; kill++) {
        const before = await count();
        // Every other kill falls upon the change-over itself, as soon as it is seen; the others before it.
        if (kill % 2 === 0)
          await until(async () => ((await count()) > before ? true : null), 120_000, "a change-over");
        else {
          const long = async (): Promise<boolean> =>
            (await executionsOf(product, "kill_turning", runId)).at(-1)!.events >= 78;
          await until(async () => ((await long()) ? true : null), 120_000, "a long history");
        }
        await worker!.kill();
        await startWorker();
      }
      const run = await runs.ended("kill_turning", runId, 300_000);
      const all = KILLS * 60;
      expect([run.state, run.outputs["sum"]]).toEqual(["success", (all * (all - 1)) / 2]);
      expect(Object.values(run.cells).filter((state) => state !== "success")).toEqual([]);
      expect(Object.keys(run.cells)).toHaveLength(all + 2);
      const { rows } = await product.pool.query<{ state: string; n: number }>(
        "select state, count(*)::integer as n from app.task_try where run = $1 group by 1",
        [run.run],
      );
      const counts = Object.fromEntries(rows.map(({ state, n }) => [state, n]));
      expect(counts["success"]).toBe(all + 2);
      expect(Object.keys(counts).filter((state) => !["success", "lost"].includes(state))).toEqual([]);
      expect(await runs.slotsInUse(run.run)).toBe(0);
      const executions = await executionsOf(product, "kill_turning", runId);
      expect(executions.length).toBeGreaterThan(KILLS);
      for (const { failedTasks } of [...executions, ...(await partsOf(product, "kill_turning", runId))])
        expect(failedTasks).toEqual([]);
    },
  );
});
