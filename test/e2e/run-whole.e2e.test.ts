import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct();
}, 120_000);
afterAll(async () => await product.stop());

const trigger = async (dagId: string, logicalAt: number | null = null): Promise<string> =>
  (await product.client.trigger({ dagId, logicalAt, conf: {}, who: "test" })).runId;

describe("A5: a run as a whole, on real servers", () => {
  it("A5: what failed runs again before the run fails", async () => {
    await product.save(
      "again.ts",
      `export default dag("run_again", { runRetries: 2, runRetryDelay: 100 }, () => {
         const a = task("a", () => 1);
         task("b", { after: [a] }, ({ tryNumber }) => { if (tryNumber < 3) throw new Error("not yet"); });
       });`,
    );
    const runId = await trigger("run_again");
    const run = await product.ended("run_again", runId);
    expect(run.state).toBe("success");
    expect(run.tries.map((one) => [one.task_id, one.try, one.state])).toEqual([
      ["a", 1, "success"],
      ["b", 1, "failed"],
      ["b", 2, "failed"],
      ["b", 3, "success"],
    ]);
  });

  it("A5: a run that takes too long is ended as failed, and says so", async () => {
    await product.save(
      "long.ts",
      `export default dag("too_long", { runTimeout: "2s", runRetries: 5 }, () => {
         const a = task("a", async ({ signal }) => {
           await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
         });
         task("b", { after: [a] }, () => 1);
       });`,
    );
    const runId = await trigger("too_long");
    expect(await product.ended("too_long", runId)).toMatchObject({
      state: "failed",
      reason: "it took longer than its runTimeout of 2 s",
      cells: { a: "failed", b: "cancelled" },
    });
  });

  it("A5: waiting for its place does not count for the time-out of a run that is cleared", async () => {
    await product.save(
      "queue.ts",
      `export default dag("one_by_one", { maxActiveRuns: 1, runTimeout: "3s" }, () => {
         task("a", async () => { await new Promise((resolve) => setTimeout(resolve, 1200)); });
       });`,
    );
    const runs: string[] = [];
    for (const day of [1, 2, 3, 4]) {
      runs.push(await trigger("one_by_one", Date.UTC(2026, 0, day)));
      await product.ended("one_by_one", runs.at(-1)!);
    }
    for (const runId of runs) {
      const command = { id: randomUUID(), kind: "clear", selection: { tasks: [] } } as const;
      await product.client.command({ dagId: "one_by_one", runId, who: "test", command });
    }
    for (const runId of runs) expect((await product.ended("one_by_one", runId)).state).toBe("success");
  });

  it("A5: after three failed runs in a row the DAG is paused, with the reason", async () => {
    await product.save(
      "failing.ts",
      `export default dag("failing", { maxFailedRuns: 3 }, () => {
         task("a", ({ conf, ds }) => { if (ds !== "2026-01-02") throw new Error("no"); });
       });`,
    );
    const paused = async () =>
      (
        await product.pool.query(
          "select paused, pause_reason, paused_by from app.dag where dag_id = 'failing'",
        )
      ).rows[0];
    for (const day of [1, 2, 3, 4]) {
      const runId = await trigger("failing", Date.UTC(2026, 0, day));
      await product.ended("failing", runId);
    }
    expect(await paused()).toMatchObject({ paused: false });
    await product.ended("failing", await trigger("failing", Date.UTC(2026, 0, 5)));
    expect(await until(async () => ((await paused()).paused ? await paused() : null))).toEqual({
      paused: true,
      pause_reason: "the last 3 runs failed",
      paused_by: "meridian",
    });
  });
});
