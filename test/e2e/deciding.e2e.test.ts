import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { dagFile, Runs, type NamedRun } from "../support/named-runs.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "6000" } });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

describe("A4 A5: deciding, setups and waits on real servers", () => {
  it("A4 K28: a branch, a switch and a short circuit", async () => {
    await product.save(
      "ways.ts",
      dagFile(
        "ways",
        `const t1 = task("t1", () => 1);
         const join = task("join", { after: [t1], triggerRule: "none_failed_min_one_success" }, () => 2);
         branch("way", ({ conf }) => conf.to === "join" ? join : "t1").before(t1, join);
         const eu = task("eu", () => 3);
         const us = taskGroup("us", () => void task("x", () => 4));
         switchOn("region", { cases: { eu, us } }, ({ conf }) => conf.region);
         const on = shortCircuit("on", ({ conf }) => conf.on);
         task("last", { after: [task("behind", { after: [on] }, () => 5)], triggerRule: "all_done" }, () => 6);`,
      ),
    );
    const one = await runs.trigger("ways", { to: "t1", region: "us", on: true });
    expect([one.state, one.cells]).toEqual([
      "success",
      {
        way: "success",
        t1: "success",
        join: "success",
        region: "success",
        eu: "skipped",
        "us.x": "success",
        on: "success",
        behind: "success",
        last: "success",
      },
    ]);
    const other = await runs.trigger("ways", { to: "join", region: "moon", on: false });
    expect(other.cells).toMatchObject({
      t1: "skipped",
      join: "success",
      region: "failed",
      eu: "upstream_failed",
      behind: "skipped",
      last: "skipped",
    });
    expect(other.errors["region"]).toMatchObject({ code: "bad_branch" });
    expect(other.errors["region"]?.message).toContain('"moon" is none of them: they are eu, us');
  });

  it("K28 K30: cleared alone: a join runs again, what was left out is left out again; with its branch, as that chooses then", async () => {
    await product.save(
      "again.ts",
      dagFile(
        "ways_again",
        `const b = task("b", () => 1);
         const c = task("c", () => 2);
         const join = task("join", { after: [b], triggerRule: "none_failed_min_one_success" }, () => 3);
         branch("way", ({ tryNumber }) => tryNumber === 1 ? [b, join] : [c, join]).before(b, c, join);`,
      ),
    );
    const runId = await runs.begin("ways_again");
    const after = async (...taskIds: string[]): Promise<NamedRun> => {
      if (taskIds.length > 0) await runs.clear("ways_again", runId, taskIds, taskIds[0] === "way");
      return await runs.ended("ways_again", runId);
    };
    expect((await after()).cells).toEqual({ way: "success", b: "success", c: "skipped", join: "success" });
    const alone = await after("c", "join");
    expect([alone.cells["c"], alone.tries]).toEqual(["skipped", { way: 1, b: 1, join: 2 }]);
    const other = await after("way");
    expect(other.cells).toEqual({ way: "success", b: "skipped", c: "success", join: "success" });
    expect(other.tries).toEqual({ way: 2, b: 1, c: 1, join: 3 });
  });

  it("A5: a body's own wait, and a rule's, use up no retry", async () => {
    await product.save(
      "waits.ts",
      `import { retryAfter, waitAndRetry } from "meridian";
       class Busy extends Error {}
       ${dagFile(
         "waits",
         `task("waits", { retries: 0 }, ({ tryNumber }) => { if (tryNumber < 4) waitAndRetry(20, "not yet"); return tryNumber; });
          task("rule", { retryRules: [{ error: Busy, action: "wait", delay: 20 }] }, ({ tryNumber }) => { if (tryNumber < 4) throw new Busy("x"); return tryNumber; });
          task("after", { retries: 1, retryDelay: "10m" }, ({ tryNumber }) => { if (tryNumber < 2) retryAfter(20); return tryNumber; });
          task("fails", { retries: 3, retryRules: [{ error: "Busy", action: "fail" }] }, () => { throw new Busy("x"); });`,
       )}`,
    );
    const run = await runs.trigger("waits");
    expect(run.tries).toEqual({ waits: 4, rule: 4, after: 2, fails: 1 });
    expect(run.cells).toEqual({ waits: "success", rule: "success", after: "success", fails: "failed" });
  });

  const STAGED = `const make = task("make", { setup: true }, () => "made");
    const work = task("work", { after: [make], retries: 2, retryDelay: 10 }, async ({ conf, signal }) => {
      if (conf.fail) fail("broken");
      if (conf.hang) await new Promise((done) => signal.addEventListener("abort", done));
    });
    task("drop", { inputs: { make }, teardown: [make], after: [work] }, async ({ inputs, conf, signal }) => {
      await new Promise((done) => setTimeout(done, conf.dropMs ?? 0));
      return inputs.make + (signal.aborted ? ", stopped" : ", dropped");
    });
    task("next", { after: [work] }, () => 1);`;

  /** Body of a setup that hangs when it is asked to. */
  const HANGS = `async ({ conf, signal }) => {
    if (conf.hangSetup) await new Promise((done) => signal.addEventListener("abort", done));
    signal.throwIfAborted();
    return "made";
  }`;

  it("A4: a teardown after work that failed", async () => {
    await product.save("staged.ts", dagFile("staged", STAGED));
    const run = await runs.trigger("staged", { fail: true });
    expect([run.state, run.cells, run.outputs["drop"]]).toEqual([
      "failed",
      { make: "success", work: "failed", drop: "success", next: "upstream_failed" },
      "made, dropped",
    ]);
  });

  it("K29: failed by hand: while the work runs the teardown runs once; while the setup runs it is skipped", async () => {
    const slow = STAGED.replace('() => "made"', HANGS);
    await product.save("by-hand.ts", dagFile("staged_by_hand", slow));
    const end = async (when: string, conf: Record<string, unknown>): Promise<NamedRun> => {
      const runId = await runs.begin("staged_by_hand", conf);
      await until(async () =>
        (await runs.view("staged_by_hand", runId)).cells[when] === "running" ? true : null,
      );
      await runs.fail("staged_by_hand", runId);
      return await runs.ended("staged_by_hand", runId);
    };
    const work = await end("work", { hang: true });
    expect([work.state, work.cells, work.tries["drop"]]).toEqual([
      "failed",
      { make: "success", work: "failed", drop: "success", next: "cancelled" },
      1,
    ]);
    const setup = await end("make", { hangSetup: true });
    expect([setup.state, setup.cells, setup.tries["drop"]]).toEqual([
      "failed",
      { make: "failed", work: "cancelled", drop: "skipped", next: "cancelled" },
      undefined,
    ]);
    expect((await runs.slotsInUse(work.run)) + (await runs.slotsInUse(setup.run))).toBe(0);
  });

  it("K77 K29: cancelled twice in Temporal while the teardown runs: it completes once, slots are free", async () => {
    await product.save("cancelled.ts", dagFile("staged_cancel", STAGED));
    const runId = await runs.begin("staged_cancel", { hang: true, dropMs: 2000 });
    const stateOf = async (name: string) => (await runs.view("staged_cancel", runId)).cells[name];
    const handle = product.temporal.workflow.getHandle(workflowIdOf("staged_cancel", runId));
    await until(async () => ((await stateOf("work")) === "running" ? true : null));
    await handle.cancel();
    await until(async () => ((await stateOf("drop")) === "running" ? true : null));
    await sleep(300);
    await handle.cancel();
    const run = await runs.ended("staged_cancel", runId);
    expect([run.state, run.cells, run.outputs["drop"], run.tries["drop"]]).toEqual([
      "cancelled",
      { make: "success", work: "cancelled", drop: "success", next: "cancelled" },
      "made, dropped",
      1,
    ]);
    expect(await runs.slotsInUse(run.run)).toBe(0);
  });
});
