import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { executionsOf, partsOf, type Execution } from "../support/executions.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

const FULL = process.env["MERIDIAN_TEST_FULL"] === "1";
/** Of Temporal. */
const PENDING = 2_000;
const EVENTS = 51_200;
const PAYLOAD = 2_097_152;

let product: Product;
let runs: Runs;
const start = async (turnOverEvents: number): Promise<void> => {
  product = await startProduct({
    env: {
      MERIDIAN_TURN_OVER_EVENTS: String(turnOverEvents),
      MERIDIAN_MAX_TRIES: "4000",
      MERIDIAN_LOST_AFTER_MS: "60000",
    },
  });
  await product.pool.query(
    "insert into app.account (key, slots) values ('pool:vast', 10000), ('pool:few', 3)",
  );
  await product.pool.query("update app.account set slots = 64 where key = 'pool:default_pool'");
  runs = new Runs(product);
};

/** Nothing came near a limit, and nothing failed on the way. */
function checkLimits(executions: readonly Execution[], events = EVENTS / 2): void {
  for (const one of executions) {
    expect(one.failedTasks).toEqual([]);
    expect(one.mostPending).toBeLessThan(PENDING);
    expect(one.events).toBeLessThan(events);
    expect(one.input).toBeLessThan(PAYLOAD);
  }
}

const say = (what: string, executions: readonly Execution[]): void => {
  const of = (key: "events" | "input" | "mostPending" | "signals"): string =>
    executions.map((one) => one[key]).join(" ");
  console.log(
    `${what}: events ${of("events")}; carried ${of("input")}; pending ${of("mostPending")}; signals ${of("signals")}`,
  );
};

describe("K73: the limits of one workflow", () => {
  // As it ships, or so that the same edges are crossed by less.
  beforeAll(async () => await start(FULL ? 10_000 : 400));
  afterAll(async () => await product.stop());

  const QUICK = FULL ? 20_000 : 500;
  it(
    `K73: a task mapped over ${QUICK} quick instances: all succeed, each once, over several executions`,
    { timeout: FULL ? 1_800_000 : 120_000 },
    async () => {
      await product.save(
        "quick.ts",
        dagFile(
          "k73_quick",
          `const items = task("items", () => Array.from({ length: ${QUICK} }, (_, i) => i));
           const each = task("each", { expand: { n: items }, maxMapped: ${QUICK} }, ({ inputs }) => inputs.n);
           task("sum", { inputs: { each } }, ({ inputs }) => inputs.each.reduce((a, b) => a + b, 0));`,
        ),
      );
      const from = Date.now();
      const runId = await runs.begin("k73_quick");
      const run = await runs.ended("k73_quick", runId, FULL ? 1_500_000 : 100_000);
      const seconds = (Date.now() - from) / 1000;
      expect([run.state, run.outputs["sum"]]).toEqual(["success", (QUICK * (QUICK - 1)) / 2]);
      expect(Object.keys(run.cells)).toHaveLength(QUICK + 2);
      expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
      expect(await runs.slotsInUse(run.run)).toBe(0);
      const executions = await executionsOf(product, "k73_quick", runId);
      const parts = await partsOf(product, "k73_quick", runId);
      say(`${QUICK} quick in ${seconds} s, ${parts.length} parts`, executions);
      expect(executions.length).toBeGreaterThan(2);
      checkLimits(executions, FULL ? EVENTS / 2 : 3_000);
      checkLimits(parts);
    },
  );

  const SLOW = FULL ? 3_000 : 1_200;
  it(
    `K73: a task mapped over ${SLOW} slow instances: all run at once, and no workflow has 2,000 activities pending`,
    { timeout: FULL ? 900_000 : 180_000 },
    async () => {
      await product.save(
        "slow.ts",
        dagFile(
          "k73_slow",
          `const items = task("items", () => Array.from({ length: ${SLOW} }, (_, i) => i));
           const each = task("each", { expand: { n: items }, maxMapped: ${SLOW}, pool: "vast" }, async ({ signal, connection }) => {
             const { existsSync } = await import("node:fs");
             while (!existsSync(${JSON.stringify(`${product.config.home}/slow`)})) await new Promise((done) => setTimeout(done, 2000));
           });
           task("count", { inputs: { each } }, ({ inputs }) => inputs.each.length);`,
        ),
      );
      const runId = await runs.begin("k73_slow");
      const inFlight = async (): Promise<number> => {
        const { rows } = await product.pool.query(
          "select count(*)::integer as n from app.task_try t join app.dag_run r using (run) where r.dag_id = 'k73_slow' and t.state = 'running'",
        );
        return rows[0].n;
      };
      const from = Date.now();
      await until(
        async () => ((await inFlight()) === SLOW ? true : null),
        FULL ? 600_000 : 120_000,
        "all at once",
      );
      const begun = (Date.now() - from) / 1000;
      (await import("node:fs")).writeFileSync(`${product.config.home}/slow`, "");
      const run = await runs.ended("k73_slow", runId, 300_000);
      expect(run.state).toBe("success");
      expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
      const executions = await executionsOf(product, "k73_slow", runId);
      const parts = await partsOf(product, "k73_slow", runId);
      say(
        `${SLOW} slow, all begun after ${begun} s, ended after ${(Date.now() - from) / 1000} s`,
        executions,
      );
      say(`its ${parts.length} parts`, parts);
      expect(parts.length).toBeGreaterThan(0);
      checkLimits([...executions, ...parts], EVENTS / 2);
      expect(Math.max(...executions.map(({ mostPending }) => mostPending))).toBeGreaterThan(500);
    },
  );

  const TASKS = FULL ? 5_000 : 300;
  it(
    `B3 K74: ${TASKS} tasks in one DAG; what is carried over stays below 2 MB`,
    { timeout: FULL ? 1_800_000 : 120_000 },
    async () => {
      await product.save(
        "tasks.ts",
        dagFile(
          "k74_tasks",
          `for (let lane = 0; lane < 50; lane++) {
             let before = task("t" + lane + "_0", () => 0);
             for (let i = 1; i < ${TASKS / 50}; i++)
               before = task("t" + lane + "_" + i, { inputs: { before } }, ({ inputs }) => inputs.before + 1);
           }`,
        ),
      );
      const from = Date.now();
      const runId = await runs.begin("k74_tasks");
      const run = await runs.ended("k74_tasks", runId, FULL ? 1_500_000 : 100_000);
      expect(run.state).toBe("success");
      expect(Object.keys(run.cells)).toHaveLength(TASKS);
      expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
      const executions = await executionsOf(product, "k74_tasks", runId);
      const parts = await partsOf(product, "k74_tasks", runId);
      say(`${TASKS} tasks in ${(Date.now() - from) / 1000} s, ${parts.length} parts`, executions);
      expect(executions.length).toBeGreaterThan(1);
      checkLimits(executions, FULL ? EVENTS / 2 : 3_000);
    },
  );
});

describe("K74: messages while a run turns over", () => {
  // Every few seconds, whatever the size.
  beforeAll(async () => await start(400));
  afterAll(async () => await product.stop());

  const COMMANDS = FULL ? 1_000 : 120;
  it(
    `K74: ${COMMANDS} commands, ten at a time, to a run that turns over meanwhile: each is answered, and done once`,
    { timeout: FULL ? 900_000 : 180_000 },
    async () => {
      // Each instance fails, and would wait for an hour; then it is cleared. Slots are few: they come by signals.
      await product.save(
        "commands.ts",
        dagFile(
          "k74_commands",
          `const each = task(
             "each",
             { expand: { n: Array.from({ length: ${COMMANDS} }, (_, i) => i) }, pool: "few", retries: 1, retryDelay: "1h" },
             ({ tryNumber, mapIndex }) => { if (tryNumber === 1) throw new Error("not yet"); return mapIndex; },
           );
           task("all", { inputs: { each } }, ({ inputs }) => inputs.each.length);`,
        ),
      );
      const runId = await runs.begin("k74_commands");
      await until(
        async () => {
          const { cells } = await runs.view("k74_commands", runId);
          const waiting = Object.values(cells).filter((state) => state === "up_for_retry").length;
          return waiting === COMMANDS ? true : null;
        },
        FULL ? 600_000 : 120_000,
        "all failed",
      );
      const answers: number[] = [];
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let index = next++; index < COMMANDS; index = next++) {
          const command = {
            id: `clear-${index}`,
            kind: "clear",
            selection: { tasks: [{ taskId: "each", mapIndex: index }] },
          } as const;
          const ask = async (): Promise<number> =>
            (await product.client.command({ dagId: "k74_commands", runId, who: "test", command })).cells;
          // Some are sent twice, as by a client whose first answer was lost.
          answers.push(...(await Promise.all(index % 5 === 0 ? [ask(), ask()] : [ask()])));
        }
      };
      await Promise.all(Array.from({ length: 10 }, lane));
      const run = await runs.ended("k74_commands", runId, 300_000);
      expect([run.state, run.outputs["all"]]).toEqual(["success", COMMANDS]);
      expect(answers).toEqual(Array.from({ length: COMMANDS * 1.2 }, () => 1));
      const tries = Object.entries(run.tries).filter(([name]) => name !== "all");
      expect(new Set(tries.map(([, number]) => number))).toEqual(new Set([2]));
      expect(await runs.slotsInUse(run.run)).toBe(0);
      const executions = await executionsOf(product, "k74_commands", runId);
      say(`${COMMANDS} commands`, executions);
      expect(executions.length).toBeGreaterThan(3);
      checkLimits(executions, 5_000);
      // Delays that are carried over share a timer: each its own, the next history was long before anything was done.
      expect(executions.length).toBeLessThan(COMMANDS);
    },
  );

  const WAITS = FULL ? 1_000 : 150;
  it(
    `K74: ${WAITS} waits end, in bursts, while their run turns over: each is ended once`,
    { timeout: FULL ? 900_000 : 180_000 },
    async () => {
      await product.save(
        "waits.ts",
        `dag("k74_waits", { schedule: null }, ({ task, waitFor }) => {
           const items = task("items", () => Array.from({ length: ${WAITS} }, (_, i) => i));
           const wait = waitFor("wait", { expand: { n: items }, timeout: "1h" });
           const after = task("after", { expand: { one: wait } }, ({ inputs }) => inputs.one);
           task("all", { inputs: { after } }, ({ inputs }) => inputs.after.reduce((a, b) => a + b, 0));
         });`,
      );
      const runId = await runs.begin("k74_waits");
      const deferred = async (): Promise<number> =>
        Object.values((await runs.view("k74_waits", runId)).cells).filter((state) => state === "deferred")
          .length;
      await until(async () => ((await deferred()) === WAITS ? true : null), 120_000, "all wait");
      for (let from = 0; from < WAITS; from += 50) {
        const burst = Array.from({ length: Math.min(50, WAITS - from) }, (_, i) => from + i);
        await Promise.all(
          burst.map(async (mapIndex) => {
            const at = { dagId: "k74_waits", runId, taskId: "wait", mapIndex };
            await product.client.endWait({ at, payload: mapIndex, who: "test" });
          }),
        );
        // The next burst falls upon what this one has set off.
        await until(
          async () => ((await deferred()) <= WAITS - from - burst.length ? true : null),
          60_000,
          "a burst",
        );
      }
      const run = await runs.ended("k74_waits", runId, 300_000);
      expect([run.state, run.outputs["all"]]).toEqual(["success", (WAITS * (WAITS - 1)) / 2]);
      expect(new Set(Object.values(run.tries))).toEqual(new Set([1]));
      const { rows } = await product.pool.query(
        "select count(*)::integer as n, count(distinct map_index)::integer as places from app.wait where run = $1 and ended_at is not null",
        [run.run],
      );
      expect(rows[0]).toEqual({ n: WAITS, places: WAITS });
      expect(await runs.slotsInUse(run.run)).toBe(0);
      const executions = await executionsOf(product, "k74_waits", runId);
      say(`${WAITS} waits`, executions);
      expect(executions.length).toBeGreaterThan(1);
      checkLimits(executions, FULL ? EVENTS / 2 : 3_000);
    },
  );

  it("stops-with-decisions: a run that is ended stops its bodies by the database, whatever else it has to write down", async () => {
    await product.save(
      "stops.ts",
      dagFile(
        "stops_with_decisions",
        `const work = task("work", async ({ signal }) => {
           await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
         });
         task("later", { after: [work] }, () => 1);`,
      ),
    );
    const runId = await runs.begin("stops_with_decisions");
    await until(async () => {
      const { cells } = await runs.view("stops_with_decisions", runId);
      return cells["work"] === "running" ? true : null;
    });
    await runs.fail("stops_with_decisions", runId);
    // Temporal's own cancel comes with the next beat, a third of a minute later.
    const run = await runs.ended("stops_with_decisions", runId, 15_000);
    expect(run.cells).toEqual({ work: "failed", later: "cancelled" });
  });
});
