import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, type Product } from "../support/product.ts";
import { executionsOf, partsOf } from "../support/executions.ts";

/** The named sizes take thousands of tries; everyday the same edges are crossed by a history that may hardly grow. */
const TURN_OVER_EVENTS = 60;

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({
    env: { MERIDIAN_TURN_OVER_EVENTS: String(TURN_OVER_EVENTS), MERIDIAN_LOST_AFTER_MS: "6000" },
  });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

describe("B3: a run with a long history goes on in new executions", () => {
  it("B3: a chain with a retry: each task once, in order, under one id and the same attributes throughout", async () => {
    await product.save(
      "chain.ts",
      dagFile(
        "big_chain",
        `let before = task("t0", () => 0);
         for (let i = 1; i < 40; i++)
           before = task("t" + i, { inputs: { before }, retries: 1, retryDelay: 1500 }, ({ inputs, tryNumber }) => {
             if (i % 10 === 9 && tryNumber === 1) throw new Error("once");
             return inputs.before + 1;
           });`,
      ),
    );
    const runId = await runs.begin("big_chain");
    const run = await runs.ended("big_chain", runId);
    expect(run.state).toBe("success");
    expect(run.outputs["t39"]).toBe(39);
    expect(run.tries).toMatchObject({ t0: 1, t8: 1, t9: 2, t39: 2 });
    expect(await runs.slotsInUse(run.run)).toBe(0);
    const executions = await executionsOf(product, "big_chain", runId);
    expect(executions.length).toBeGreaterThan(3);
    for (const { events, failedTasks, attributes } of executions) {
      expect(events).toBeLessThan(2 * TURN_OVER_EVENTS);
      expect(failedTasks).toEqual([]);
      expect(attributes).toMatchObject({ MeridianDag: ["big_chain"], MeridianRunType: ["manual"] });
    }
  });

  it("B3: while a long try holds up the change-over, the others go on, in parts", async () => {
    await product.save(
      "held.ts",
      dagFile(
        "big_held",
        `
         const mark = ${JSON.stringify(join(product.config.home, "held"))};
         const slow = task("slow", async () => { const { existsSync } = await import("node:fs"); while (!existsSync(mark)) await new Promise((done) => setTimeout(done, 50)); });
         let before = task("t0", () => 0);
         for (let i = 1; i < 30; i++)
           before = task("t" + i, { inputs: { before } }, ({ inputs }) => inputs.before + 1);
         const each = task("each", { expand: { n: Array.from({ length: 40 }, (_, i) => i) }, after: [before] }, ({ inputs }) => inputs.n);
         const sum = task("sum", { inputs: { each } }, async ({ inputs }) => { (await import("node:fs")).writeFileSync(mark, ""); return inputs.each.reduce((a, b) => a + b, 0); });
         task("tail", { after: [slow, sum] }, () => "done");`,
      ),
    );
    const runId = await runs.begin("big_held");
    const run = await runs.ended("big_held", runId);
    expect(run.state).toBe("success");
    expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
    expect(run.outputs["sum"]).toBe(780);
    expect(await runs.slotsInUse(run.run)).toBe(0);
    const executions = await executionsOf(product, "big_held", runId);
    expect(executions.length).toBeGreaterThan(1);
    for (const { failedTasks } of executions) expect(failedTasks).toEqual([]);
    const parts = await partsOf(product, "big_held", runId);
    expect(parts.length).toBeGreaterThan(0);
    for (const { status, failedTasks } of parts) expect([status, failedTasks]).toEqual(["COMPLETED", []]);
  });
});
