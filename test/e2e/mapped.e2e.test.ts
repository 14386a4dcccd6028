import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "6000" } });
});
afterAll(async () => await product.stop());

/** `dag(…)` with all that its function gets. */
const file = (id: string, body: string): string =>
  `dag("${id}", { schedule: null }, ({ task, taskGroup, branch, switchOn, shortCircuit }) => { ${body} });`;

interface Ended {
  readonly run: number;
  readonly state: string;
  /** By name: `load[2]`. */
  readonly cells: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly errors: Readonly<Record<string, { readonly code: string; readonly message: string }>>;
  readonly tries: Readonly<Record<string, number>>;
}

async function view(dagId: string, runId: string): Promise<Ended> {
  const { run, state } = await product.run(dagId, runId);
  const named = async (sql: string) =>
    (
      await product.pool.query<Record<string, never> & { task_id: string; map_index: number }>(sql, [run])
    ).rows.map((row) => [row.map_index < 0 ? row.task_id : `${row.task_id}[${row.map_index}]`, row] as const);
  const cells = await named("select task_id, map_index, state from app.cell where run = $1 order by 1, 2");
  const tries = await named("select * from app.task_try where run = $1 order by task_id, map_index, try");
  const of = (key: string) => Object.fromEntries(tries.map(([name, row]) => [name, row[key]!]));
  return {
    run,
    state,
    cells: Object.fromEntries(cells.map(([name, row]) => [name, row["state"]!])),
    outputs: of("output"),
    errors: of("error"),
    tries: of("try"),
  };
}

async function begin(dagId: string, conf: Record<string, unknown> = {}) {
  return await product.client.trigger({ dagId, logicalAt: null, conf, who: "test" });
}

async function trigger(dagId: string, conf: Record<string, unknown> = {}, withinMs = 60_000): Promise<Ended> {
  const { runId } = await begin(dagId, conf);
  await product.ended(dagId, runId, withinMs);
  return await view(dagId, runId);
}

let commands = 0;
async function clear(
  dagId: string,
  runId: string,
  taskIds: readonly string[],
  downstream = false,
): Promise<void> {
  await product.client.command({
    dagId,
    runId,
    who: "test",
    command: {
      id: `command-${++commands}`,
      kind: "clear",
      selection: { tasks: taskIds.map((taskId) => ({ taskId })), downstream },
    },
  });
}

const slotsInUse = async (run: number): Promise<number> =>
  (await product.pool.query("select from app.lease where run = $1", [run])).rowCount ?? 0;

describe("A7: mapped tasks on real servers", () => {
  it("A7 B11: 50 instances in a pool of 5: never more than five at once, each once, in the order of the items", async () => {
    await product.pool.query("insert into app.account (key, slots) values ('pool:five', 5)");
    await product.save(
      "fifty.ts",
      file(
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
    const run = await trigger("map_fifty");
    expect(run.state).toBe("success");
    const all = run.outputs["all"] as { i: number; mapIndex: number; from: number; to: number }[];
    expect(all.map(({ i }) => i)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(all.every(({ i, mapIndex }) => i === mapIndex)).toBe(true);
    const atOnce = all.map(({ from }) => all.filter((other) => other.from <= from && from < other.to).length);
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(5);
    expect(Math.max(...atOnce)).toBeGreaterThan(2);
    expect(Object.keys(run.cells)).toHaveLength(52);
    expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
    expect(await slotsInUse(run.run)).toBe(0);
  });

  it(
    "K41: 1,024 run; 1,025, a text and null are errors, and no instance is made",
    { timeout: 120_000 },
    async () => {
      await product.pool.query("update app.account set slots = 300 where key = 'pool:default_pool'");
      await product.save(
        "limit.ts",
        file(
          "map_limit",
          `const items = task("items", ({ conf }) => typeof conf.n === "number" ? Array.from({ length: conf.n }, (_, i) => i) : conf.value);
         const each = task("each", { expand: { item: items } }, ({ inputs }) => inputs.item);
         task("sum", { inputs: { each } }, ({ inputs }) => inputs.each.reduce((a, b) => a + b, 0));`,
        ),
      );
      const fits = await trigger("map_limit", { n: 1024 }, 100_000);
      expect([fits.state, fits.outputs["sum"]]).toEqual(["success", (1024 * 1023) / 2]);
      expect(Object.keys(fits.cells)).toHaveLength(1026);
      for (const [conf, message] of [
        [{ n: 1025 }, "would give 1025 instances, and at most 1024 are allowed"],
        [{ value: "abc" }, 'is the text "abc"; expected a list'],
        [{ value: null }, "is null; expected a list"],
      ] as const) {
        const run = await trigger("map_limit", conf);
        expect(run.state).toBe("failed");
        expect(run.cells).toEqual({ items: "success", each: "failed", sum: "upstream_failed" });
        expect(run.errors["each"]?.message).toContain(message);
      }
    },
  );

  it("K43 K26: reducers get what succeeded, in order; with all skipped, or nothing to map over, []", async () => {
    await product.save(
      "skips.ts",
      file(
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
    const some = await trigger("map_skips", { items: [0, 1, 2, 3, 4], skip: [1, 3] });
    expect(some.outputs).toMatchObject({ none_failed: ["v0", "v2", "v4"], all_done: ["v0", "v2", "v4"] });
    expect(some.cells).toMatchObject({ "each[1]": "skipped", "each[2]": "success", all_success: "skipped" });
    const all = await trigger("map_skips", { items: [0, 1, 2, 3, 4], skip: [0, 1, 2, 3, 4] });
    expect(all.outputs).toMatchObject({ none_failed: [], all_done: [] });
    expect(all.cells).toMatchObject({ all_success: "skipped" });
    const empty = await trigger("map_skips", { items: [], skip: [] });
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
      file(
        "map_large",
        `const rows = task("rows", () => Array.from({ length: 30 }, (_, i) => ({ i, text: String(i).padStart(100_000, "x") })));
         const one = task("one", { expand: { row: rows } }, ({ inputs }) => inputs.row);
         const some = task("some", { expand: { rows }, batch: 8 }, ({ inputs }) => inputs.rows.map((row) => row.i));
         task("ones", { inputs: { one } }, ({ inputs }) => inputs.one.map((row) => [row.i, row.text.length]));
         task("again", { expand: { row: one } }, ({ inputs }) => [inputs.row.i, inputs.row.text.length]);
         task("somes", { inputs: { some } }, ({ inputs }) => inputs.some);`,
      ),
    );
    const run = await trigger("map_large");
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
      file(
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
    const run = await trigger("map_rules");
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
      file(
        "map_shrinks",
        `const list = task("list", ({ tryNumber }) => Array.from({ length: [5, 4, 6][tryNumber - 1] }, (_, i) => i));
         const each = task("each", { expand: { n: list } }, ({ inputs }) => inputs.n);
         task("all", { inputs: { each } }, ({ inputs }) => inputs.each);`,
      ),
    );
    const { runId } = await begin("map_shrinks");
    const ended = async (): Promise<Ended> => {
      await product.ended("map_shrinks", runId);
      return await view("map_shrinks", runId);
    };
    expect((await ended()).outputs["all"]).toEqual([0, 1, 2, 3, 4]);
    await clear("map_shrinks", runId, ["list"], true);
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
    await clear("map_shrinks", runId, ["list"], true);
    const six = await ended();
    expect([six.state, six.outputs["all"]]).toEqual(["success", [0, 1, 2, 3, 4, 5]]);
    expect(six.tries).toMatchObject({ "each[3]": 3, "each[4]": 2, "each[5]": 1, all: 3 });
    expect(Object.values(six.cells)).toEqual(Array.from({ length: 8 }, () => "success"));
  });

  it("A7: combinations come in the order of the file: the last list turns fastest", async () => {
    await product.save(
      "pairs.ts",
      file(
        "map_pairs",
        `const pairs = task("pair", { expand: { zone: [1, 2], a: ["x", "y"] } }, ({ inputs }) => inputs.zone + inputs.a);
         task("all", { inputs: { pairs } }, ({ inputs }) => inputs.pairs);`,
      ),
    );
    expect((await trigger("map_pairs")).outputs["all"]).toEqual(["1x", "1y", "2x", "2y"]);
  });

  it("K42 K27: in a mapped group chains keep their index, and each instance decides for itself", async () => {
    await product.save(
      "group.ts",
      file(
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
    const run = await trigger("map_group");
    expect(run.state).toBe("success");
    expect(run.outputs["sum"]).toEqual(["a0 b0", "a1 b1", "a2 b2", "a3 b3", "a5 b5"]);
    expect(run.cells).toMatchObject({ "g.on[4]": "success", "g.a[4]": "skipped", "g.b[4]": "skipped" });
    expect(run.tries["g.a[2]"]).toBe(2);
  });
});

describe("A4 A5: deciding, setups and waits on real servers", () => {
  it("A4 K28: a branch, a switch and a short circuit", async () => {
    await product.save(
      "ways.ts",
      file(
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
    const one = await trigger("ways", { to: "t1", region: "us", on: true });
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
    const other = await trigger("ways", { to: "join", region: "moon", on: false });
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
      file(
        "ways_again",
        `const b = task("b", () => 1);
         const c = task("c", () => 2);
         const join = task("join", { after: [b], triggerRule: "none_failed_min_one_success" }, () => 3);
         branch("way", ({ tryNumber }) => tryNumber === 1 ? [b, join] : [c, join]).before(b, c, join);`,
      ),
    );
    const { runId } = await begin("ways_again");
    const after = async (...taskIds: string[]): Promise<Ended> => {
      if (taskIds.length > 0) await clear("ways_again", runId, taskIds, taskIds[0] === "way");
      await product.ended("ways_again", runId);
      return await view("ways_again", runId);
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
       ${file(
         "waits",
         `task("waits", { retries: 0 }, ({ tryNumber }) => { if (tryNumber < 4) waitAndRetry(20, "not yet"); return tryNumber; });
          task("rule", { retryRules: [{ error: Busy, action: "wait", delay: 20 }] }, ({ tryNumber }) => { if (tryNumber < 4) throw new Busy("x"); return tryNumber; });
          task("after", { retries: 1, retryDelay: "10m" }, ({ tryNumber }) => { if (tryNumber < 2) retryAfter(20); return tryNumber; });
          task("fails", { retries: 3, retryRules: [{ error: "Busy", action: "fail" }] }, () => { throw new Busy("x"); });`,
       )}`,
    );
    const run = await trigger("waits");
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
    await product.save("staged.ts", file("staged", STAGED));
    const run = await trigger("staged", { fail: true });
    expect([run.state, run.cells, run.outputs["drop"]]).toEqual([
      "failed",
      { make: "success", work: "failed", drop: "success", next: "upstream_failed" },
      "made, dropped",
    ]);
  });

  it("K29: failed by hand: while the work runs the teardown runs once; while the setup runs it is skipped", async () => {
    const slow = STAGED.replace('() => "made"', HANGS);
    await product.save("by-hand.ts", file("staged_by_hand", slow));
    const end = async (when: string, conf: Record<string, unknown>): Promise<Ended> => {
      const { runId } = await begin("staged_by_hand", conf);
      await until(async () =>
        (await view("staged_by_hand", runId)).cells[when] === "running" ? true : null,
      );
      await product.client.command({
        dagId: "staged_by_hand",
        runId,
        who: "test",
        command: { id: `command-${++commands}`, kind: "end", as: "failed", reason: "by hand" },
      });
      await product.ended("staged_by_hand", runId);
      return await view("staged_by_hand", runId);
    };
    const work = await end("work", { hang: true });
    expect([work.state, work.cells, work.tries["drop"]]).toEqual([
      "failed",
      { make: "success", work: "failed", drop: "success", next: "skipped" },
      1,
    ]);
    const setup = await end("make", { hangSetup: true });
    expect([setup.state, setup.cells, setup.tries["drop"]]).toEqual([
      "failed",
      { make: "failed", work: "skipped", drop: "skipped", next: "skipped" },
      undefined,
    ]);
    expect((await slotsInUse(work.run)) + (await slotsInUse(setup.run))).toBe(0);
  });

  it("K77 K29: cancelled twice in Temporal while the teardown runs: it completes once, slots are free", async () => {
    await product.save("cancelled.ts", file("staged_cancel", STAGED));
    const { runId } = await begin("staged_cancel", { hang: true, dropMs: 2000 });
    const stateOf = async (name: string) => (await view("staged_cancel", runId)).cells[name];
    const handle = product.temporal.workflow.getHandle(workflowIdOf("staged_cancel", runId));
    await until(async () => ((await stateOf("work")) === "running" ? true : null));
    await handle.cancel();
    await until(async () => ((await stateOf("drop")) === "running" ? true : null));
    await sleep(300);
    await handle.cancel();
    await product.ended("staged_cancel", runId);
    const run = await view("staged_cancel", runId);
    expect([run.state, run.cells, run.outputs["drop"], run.tries["drop"]]).toEqual([
      "cancelled",
      { make: "success", work: "cancelled", drop: "success", next: "cancelled" },
      "made, dropped",
      1,
    ]);
    expect(await slotsInUse(run.run)).toBe(0);
  });
});
