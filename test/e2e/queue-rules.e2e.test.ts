import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LimitsFile } from "../../core/limits-file.ts";
import { applyLimits, limitsFile } from "../support/limits.ts";
import { Runs } from "../support/named-runs.ts";
import { startProduct, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct();
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

/** A worker reads the file in force this often. */
const IN_FORCE_MS = 6_000;

const apply = async (gpu: LimitsFile["queues"][string]): Promise<void> => {
  const moved = { tenants: [], otherwise: { redirect: "default" } } as const;
  await applyLimits(product.pool, limitsFile({ queues: { elsewhere: moved, gpu } }));
  await sleep(IN_FORCE_MS);
};

describe("B15: queues of tenants on real servers", () => {
  it(
    "B15: a redirected task runs on the other queue; a refused one of a scheduled run fails at once, and runs when it is cleared after a new file",
    { timeout: 60_000 },
    async () => {
      await product.save(
        "queues.ts",
        `dag("queue_rules", { schedule: "@daily", startDate: "2026-05-01" }, () => {
           task("moved", { queue: "elsewhere" }, () => 1);
           task("train", { queue: "gpu", retries: 3, retryDelay: 0, cores: 2.5 }, () => 2);
         });`,
      );
      await apply({ tenants: ["ml"], otherwise: "refuse" });
      expect(await product.createDue(["queue_rules"])).toBe(1);
      const runId = (await product.runs("queue_rules"))[0]!.run_id;
      const run = await runs.ended("queue_rules", runId);
      expect(run).toMatchObject({
        state: "failed",
        cells: { moved: "success", train: "failed" },
        tries: { train: 1 },
        errors: {
          train: {
            code: "queue_refused",
            message: expect.stringContaining('task "train" asks for queue "gpu", and a dag without a tenant'),
          },
        },
      });
      await expect(runs.begin("queue_rules")).rejects.toMatchObject({ code: "queue_refused" });

      await apply({ tenants: ["ml"], otherwise: { redirect: "default" } });
      await runs.clear("queue_rules", runId, ["train"]);
      await expect
        .poll(async () => (await runs.view("queue_rules", runId)).outputs["train"], { timeout: 20_000 })
        .toBe(2);
      expect((await runs.ended("queue_rules", runId)).state).toBe("success");
    },
  );

  it(
    "B15: a run that waits for its place for too long fails with an alert; cleared, it runs",
    { timeout: 60_000 },
    async () => {
      await product.save(
        "late.ts",
        `dag("late_runs", { schedule: null, maxActiveRuns: 1 }, () => {
           task("hold", async ({ conf }) => {
             await new Promise((done) => setTimeout(done, conf.ms));
             return conf.ms;
           });
         });`,
      );
      const first = await runs.begin("late_runs", { ms: 15_000 });
      const second = await runs.begin("late_runs", { ms: 1 });
      await applyLimits(product.pool, limitsFile({ queued: { timeoutMs: 1_000 } }));
      const late = await runs.ended("late_runs", second, 20_000);
      expect(late).toMatchObject({ state: "failed", cells: { hold: "cancelled" } });
      const { rows } = await product.pool.query("select kind, message from app.alert where run = $1", [
        late.run,
      ]);
      expect(rows).toEqual([
        {
          kind: "queued_too_long",
          message: expect.stringMatching(
            /^it waited \d+ s for a place among the active runs of its dag \(1 of 1 taken\), longer than the 1 s /,
          ),
        },
      ]);
      await runs.clear("late_runs", second, ["hold"]);
      await expect
        .poll(async () => (await runs.view("late_runs", second)).outputs["hold"], { timeout: 30_000 })
        .toBe(1);
      expect((await runs.ended("late_runs", second)).state).toBe("success");
      expect((await runs.ended("late_runs", first)).state).toBe("success");
    },
  );
});
