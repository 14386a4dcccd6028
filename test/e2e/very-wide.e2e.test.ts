import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executionsOf } from "../support/executions.ts";
import { startProduct, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  // The time after which a worker is taken for dead as it ships: 2 s, as other tests have it, are short for 500 tries
  // at once beside another test file on two cores, and a lost try is tried again.
  product = await startProduct({
    env: { MERIDIAN_BLOCKED_AFTER_MS: "1500", MERIDIAN_THREADS: "2", MERIDIAN_LOST_AFTER_MS: "15000" },
  });
});
afterAll(async () => await product.stop());

describe("B3: a run wider than what Temporal takes at once", () => {
  it("very-wide: 2,100 tries with slots for all of them run, though Temporal takes 2,000 at once", async () => {
    await product.pool.query("insert into app.account (key, slots) values ('pool:vast', 10000)");
    await product.save(
      "vast.ts",
      `dag("e2e_vast", { schedule: null, defaults: { pool: "vast" } }, () => {
        for (let i = 0; i < 2100; i++) task("t" + i, () => null);
      });`,
    );
    const { runId } = await product.client.trigger({
      dagId: "e2e_vast",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    const run = await product.ended("e2e_vast", runId, 150_000);
    expect(run.state).toBe("success");
    expect(run.tries).toHaveLength(2100);
    for (const { failedTasks } of await executionsOf(product, "e2e_vast", runId))
      expect(failedTasks).toEqual([]);
  }, 180_000);
});
