import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endWait } from "../support/end-wait.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
const env = { MERIDIAN_LOST_AFTER_MS: "6000" };
beforeAll(async () => {
  product = await startProduct({ env });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

async function begin(dagId: string, logicalAt: number | null = null) {
  const { runId } = await product.client.trigger({ dagId, logicalAt, conf: {}, who: "test" });
  return { runId, run: (await product.run(dagId, runId)).run };
}

describe("K39 A6: waits that end as they begin", () => {
  it("regression K39: events that come while bodies still run, ahead of their waits, are heard at once", async () => {
    const go = join(product.config.home, "go");
    await product.save(
      "ahead.ts",
      dagFile(
        "races_ahead",
        `task("work", { expand: { n: Array.from({ length: 20 }, (_, i) => i) } }, async ({ resumed }) => {
           if (resumed === undefined) {
             const { existsSync } = await import("node:fs");
             while (!existsSync(${JSON.stringify(go)})) await new Promise((done) => setTimeout(done, 20));
             defer({ event: true });
           }
           return resumed.payload;
         });
         task("brief", { expand: { n: Array.from({ length: 20 }, (_, i) => i) } }, ({ resumed }) => {
           if (resumed === undefined) defer({ for: "1ms" });
           return 1;
         });`,
      ),
    );
    const { runId, run } = await begin("races_ahead");
    const names = Array.from({ length: 20 }, (_, i) => `work[${i}]`);
    await until(async () => {
      const { cells } = await runs.view("races_ahead", runId);
      return names.every((name) => cells[name] === "running") ? true : null;
    });
    for (const [map_index] of names.entries()) {
      const address = { map_index, try: 1, wait: 1 };
      expect(await endWait(product, run, "work", map_index, address)).toBe("ended");
    }
    writeFileSync(go, "");
    // Whoever told the run too early tells it again only after a minute.
    const ended = await runs.ended("races_ahead", runId, 30_000);
    expect(ended.state).toBe("success");
    expect(names.map((name) => ended.outputs[name])).toEqual(names.map((_, i) => i));
    expect(new Set(Object.values(ended.tries))).toEqual(new Set([1]));
  });

  it("regression A6: waitForRun of a mapped task waits for the instances that have not begun, too", async () => {
    await product.save(
      "other.ts",
      dagFile(
        "races_other",
        `task("each", { expand: { n: [0, 1, 2] }, maxActivePerRun: 1 }, async ({ mapIndex }) => {
           await new Promise((done) => setTimeout(done, 1500));
           return mapIndex;
         });`,
      ) + dagFile("races_waits", `waitForRun("other", { dag: "races_other", task: "each", every: "1s" });`),
    );
    const logicalAt = Date.parse("2026-01-02T00:00:00Z");
    const other = await begin("races_other", logicalAt);
    const { runId } = await begin("races_waits", logicalAt);
    expect((await runs.ended("races_waits", runId)).state).toBe("success");
    const { state, cells } = await runs.view("races_other", other.runId);
    expect([state, cells]).toEqual([
      "success",
      { "each[0]": "success", "each[1]": "success", "each[2]": "success" },
    ]);
  });

  it("regression K37: a sensor's time-out counts from its first check, not while no worker serves its queue", async () => {
    await product.save(
      "queue.ts",
      dagFile(
        "races_queue",
        `sensor("late", { every: "1s", timeout: "2s", queue: "rare" }, async ({ try: number }) => {
           await new Promise((done) => setTimeout(done, 300));
           return "there";
         });`,
      ),
    );
    const { runId } = await begin("races_queue");
    await sleep(3_000);
    const rare = await startProduct({ beside: product, env: { ...env, MERIDIAN_QUEUES: "rare" } });
    try {
      const ended = await runs.ended("races_queue", runId, 30_000);
      expect([ended.state, ended.outputs["late"]]).toEqual(["success", "there"]);
    } finally {
      await rare.stop();
    }
  });
});
