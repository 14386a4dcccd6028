import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dagFile, Runs, type NamedRun } from "../support/named-runs.ts";
import { startProduct, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "6000" } });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

describe("A7: mapped tasks on real servers", () => {
  it("A7 B11: 50 instances in a pool of 5: never more than five at once, each once, in the order of the items", async () => {
    await product.pool.query("insert into app.account (key, slots) values ('pool:five', 5)");
    await product.save(
      "fifty.ts",
      dagFile(
        "map_fifty",
        `const items = task("items", () => Array.from({ length: 50 }, (_, i) => ({ i })));
         const work = task("work", { expand: { item: items }, pool: "five" }, async ({ inputs, mapIndex }) => {
           const from = Date.now();
           await new Promise((done) => setTimeout(done, 60));
           return { i: inputs.item.i, mapIndex, from, to: Date.now() };
         });
         task("all", { inputs: { work } }, ({ inputs }) => inputs.work);`,
      ),
    );
    const run = await runs.trigger("map_fifty");
    expect(run.state).toBe("success");
    const all = run.outputs["all"] as { i: number; mapIndex: number; from: number; to: number }[];
    expect(all.map(({ i }) => i)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(all.every(({ i, mapIndex }) => i === mapIndex)).toBe(true);
    const atOnce = all.map(({ from }) => all.filter((other) => other.from <= from && from < other.to).length);
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(5);
    expect(Math.max(...atOnce)).toBeGreaterThan(2);
    expect(Object.keys(run.cells)).toHaveLength(52);
    expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
    expect(await runs.slotsInUse(run.run)).toBe(0);
  });

  it("A7 B11: per-task concurrency over all runs: never more than maxActivePerDag tries of a task, nor maxActiveTasks of a DAG", async () => {
    await product.save(
      "over.ts",
      `export const over = dag("map_over", { schedule: null, maxActiveTasks: 4 }, () => {
         const span = async (ms: number) => {
           const from = Date.now();
           await new Promise((done) => setTimeout(done, ms));
           return { from, to: Date.now() };
         };
         const load = task("load", { expand: { n: [1, 2, 3, 4, 5, 6] }, maxActivePerDag: 2 }, () => span(80));
         const rest = task("rest", { expand: { n: [1, 2, 3, 4, 5, 6] } }, () => span(60));
         task("all", { inputs: { load, rest } }, ({ inputs }) => inputs);
       });`,
    );
    const ended = await Promise.all([1, 2, 3].map(async () => await runs.trigger("map_over")));
    type Span = { from: number; to: number };
    const spans = ended.map((run) => run.outputs["all"] as { load: Span[]; rest: Span[] });
    const most = (all: readonly Span[]): number =>
      Math.max(...all.map(({ from }) => all.filter((other) => other.from <= from && from < other.to).length));
    const load = spans.flatMap((one) => one.load);
    expect(load).toHaveLength(18);
    expect(most(load)).toBe(2);
    const all = [...load, ...spans.flatMap((one) => one.rest)];
    expect(most(all)).toBeLessThanOrEqual(4);
    expect(most(all)).toBeGreaterThan(2);
    const { rows } = await product.pool.query<{ reason: string }>(
      "select distinct w.reason from app.waited w join app.dag_run r using (run) where r.dag_id = 'map_over'",
    );
    for (const { reason } of rows) expect(reason).toMatch(/^(the active t|waits behind)/);
  });

  it(
    "K41: 1,024 run; 1,025, a text and null are errors, and no instance is made",
    { timeout: 120_000 },
    async () => {
      await product.pool.query("update app.account set slots = 300 where key = 'pool:default_pool'");
      await product.save(
        "limit.ts",
        dagFile(
          "map_limit",
          `const items = task("items", ({ conf }) => typeof conf.n === "number" ? Array.from({ length: conf.n }, (_, i) => i) : conf.value);
         const each = task("each", { expand: { item: items } }, ({ inputs }) => inputs.item);
         task("sum", { inputs: { each } }, ({ inputs }) => inputs.each.reduce((a, b) => a + b, 0));`,
        ),
      );
      const fits = await runs.trigger("map_limit", { n: 1024 }, 100_000);
      expect([fits.state, fits.outputs["sum"]]).toEqual(["success", (1024 * 1023) / 2]);
      expect(Object.keys(fits.cells)).toHaveLength(1026);
      for (const [conf, message] of [
        [{ n: 1025 }, "would give 1025 instances, and at most 1024 are allowed"],
        [{ value: "abc" }, 'is the text "abc"; expected a list'],
        [{ value: null }, "is null; expected a list"],
      ] as const) {
        const run = await runs.trigger("map_limit", conf);
        expect(run.state).toBe("failed");
        expect(run.cells).toEqual({ items: "success", each: "failed", sum: "upstream_failed" });
        expect(run.errors["each"]?.message).toContain(message);
      }
    },
  );

  it("K43 K26: reducers get what succeeded, in order; with all skipped, or nothing to map over, []", async () => {
    await product.save(
      "skips.ts",
      dagFile(
        "map_skips",
        `const items = task("items", ({ conf }) => conf.items);
         const each = task("each", { expand: { n: items } }, async ({ inputs, conf }) => {
           if (conf.skip.includes(inputs.n)) skip();
           await new Promise((done) => setTimeout(done, 200 - 40 * inputs.n));
           return "v" + inputs.n;
         });
         for (const triggerRule of ["none_failed", "all_done", "all_success"]) {
           task(triggerRule, { inputs: { each }, triggerRule }, ({ inputs }) => inputs.each);
         }`,
      ),
    );
    const some = await runs.trigger("map_skips", { items: [0, 1, 2, 3, 4], skip: [1, 3] });
    expect(some.outputs).toMatchObject({ none_failed: ["v0", "v2", "v4"], all_done: ["v0", "v2", "v4"] });
    expect(some.cells).toMatchObject({ "each[1]": "skipped", "each[2]": "success", all_success: "skipped" });
    const all = await runs.trigger("map_skips", { items: [0, 1, 2, 3, 4], skip: [0, 1, 2, 3, 4] });
    expect(all.outputs).toMatchObject({ none_failed: [], all_done: [] });
    expect(all.cells).toMatchObject({ all_success: "skipped" });
    const empty = await runs.trigger("map_skips", { items: [], skip: [] });
    expect(empty.outputs).toMatchObject({ none_failed: [], all_done: [] });
    expect(empty.cells).toEqual({
      items: "success",
      each: "skipped",
      none_failed: "success",
      all_done: "success",
      all_success: "skipped",
    });
  });

  it("A7 A12: a list of 3 MB: each instance gets its own item, or its batch; so does a list of large outputs", async () => {
    await product.save(
      "large.ts",
      dagFile(
        "map_large",
        `const rows = task("rows", () => Array.from({ length: 30 }, (_, i) => ({ i, text: String(i).padStart(100_000, "x") })));
         const one = task("one", { expand: { row: rows } }, ({ inputs }) => inputs.row);
         const some = task("some", { expand: { rows }, batch: 8 }, ({ inputs }) => inputs.rows.map((row) => row.i));
         task("ones", { inputs: { one } }, ({ inputs }) => inputs.one.map((row) => [row.i, row.text.length]));
         task("again", { expand: { row: one } }, ({ inputs }) => [inputs.row.i, inputs.row.text.length]);
         task("somes", { inputs: { some } }, ({ inputs }) => inputs.some);`,
      ),
    );
    const run = await runs.trigger("map_large");
    expect(run.errors["ones"] ?? null).toBeNull();
    expect(run.state).toBe("success");
    expect(run.outputs["ones"]).toEqual(Array.from({ length: 30 }, (_, i) => [i, 100_000]));
    expect(run.outputs["again[29]"]).toEqual([29, 100_000]);
    expect(run.outputs["somes"]).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10, 11, 12, 13, 14, 15],
      [16, 17, 18, 19, 20, 21, 22, 23],
      [24, 25, 26, 27, 28, 29],
    ]);
  });

  it("K25: rules wait for every instance: all_done for the last, one_failed for the first failure", async () => {
    await product.save(
      "rules.ts",
      dagFile(
        "map_rules",
        `const each = task("each", { expand: { n: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] } }, async ({ inputs }) => {
           await new Promise((done) => setTimeout(done, inputs.n * 300));
           if (inputs.n < 5) throw new Error("x");
           return Date.now();
         });
         for (const triggerRule of ["all_done", "all_success", "one_failed"]) {
           task(triggerRule, { after: [each], triggerRule }, () => Date.now());
         }`,
      ),
    );
    const run = await runs.trigger("map_rules");
    const last = run.outputs["each[9]"] as number;
    expect(run.cells).toMatchObject({
      all_done: "success",
      all_success: "upstream_failed",
      one_failed: "success",
    });
    expect(run.outputs["all_done"]).toBeGreaterThanOrEqual(last);
    expect(run.outputs["one_failed"]).toBeLessThan(last);
  });

  it("K40: the list shrinks, then grows, on reruns: what is gone is removed with its tries kept, and blocks nobody", async () => {
    await product.save(
      "shrinks.ts",
      dagFile(
        "map_shrinks",
        `const list = task("list", ({ tryNumber }) => Array.from({ length: [5, 4, 6][tryNumber - 1] }, (_, i) => i));
         const each = task("each", { expand: { n: list } }, ({ inputs }) => inputs.n);
         task("all", { inputs: { each } }, ({ inputs }) => inputs.each);`,
      ),
    );
    const runId = await runs.begin("map_shrinks");
    const ended = async (): Promise<NamedRun> => await runs.ended("map_shrinks", runId);
    expect((await ended()).outputs["all"]).toEqual([0, 1, 2, 3, 4]);
    await runs.clear("map_shrinks", runId, ["list"], true);
    const four = await ended();
    expect([four.state, four.outputs["all"], four.cells["each[4]"]]).toEqual([
      "success",
      [0, 1, 2, 3],
      "removed",
    ]);
    expect(four.tries).toEqual({
      list: 2,
      "each[0]": 2,
      "each[1]": 2,
      "each[2]": 2,
      "each[3]": 2,
      "each[4]": 1,
      all: 2,
    });
    await runs.clear("map_shrinks", runId, ["list"], true);
    const six = await ended();
    expect([six.state, six.outputs["all"]]).toEqual(["success", [0, 1, 2, 3, 4, 5]]);
    expect(six.tries).toMatchObject({ "each[3]": 3, "each[4]": 2, "each[5]": 1, all: 3 });
    expect(Object.values(six.cells)).toEqual(Array.from({ length: 8 }, () => "success"));
  });

  it("A7: combinations come in the order of the file: the last list turns fastest", async () => {
    await product.save(
      "pairs.ts",
      dagFile(
        "map_pairs",
        `const pairs = task("pair", { expand: { zone: [1, 2], a: ["x", "y"] } }, ({ inputs }) => inputs.zone + inputs.a);
         task("all", { inputs: { pairs } }, ({ inputs }) => inputs.pairs);`,
      ),
    );
    expect((await runs.trigger("map_pairs")).outputs["all"]).toEqual(["1x", "1y", "2x", "2y"]);
  });

  it("K42 K27: in a mapped group chains keep their index, and each instance decides for itself", async () => {
    await product.save(
      "group.ts",
      dagFile(
        "map_group",
        `const g = taskGroup("g", { expand: { n: [0, 1, 2, 3, 4, 5] } }, ({ n }) => {
           const on = shortCircuit("on", { inputs: { n } }, ({ inputs }) => inputs.n !== 4);
           const a = task("a", { inputs: { n }, after: [on], retries: 1, retryDelay: 300 }, ({ inputs, tryNumber }) => {
             if (inputs.n === 2 && tryNumber === 1) throw new Error("once");
             return "a" + inputs.n;
           });
           return task("b", { inputs: { a } }, ({ inputs, mapIndex }) => inputs.a + " b" + mapIndex);
         });
         task("sum", { inputs: { all: g.returned }, triggerRule: "none_failed" }, ({ inputs }) => inputs.all);`,
      ),
    );
    const run = await runs.trigger("map_group");
    expect(run.state).toBe("success");
    expect(run.outputs["sum"]).toEqual(["a0 b0", "a1 b1", "a2 b2", "a3 b3", "a5 b5"]);
    expect(run.cells).toMatchObject({ "g.on[4]": "success", "g.a[4]": "skipped", "g.b[4]": "skipped" });
    expect(run.tries["g.a[2]"]).toBe(2);
  });
});
