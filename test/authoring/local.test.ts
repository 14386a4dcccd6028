import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dag, fail, skip, task } from "../../authoring/index.ts";
import type { TaskRef } from "../../authoring/index.ts";
import { runDag } from "../../authoring/testing.ts";
import type { LocalRun } from "../../authoring/testing.ts";

const statesOf = (run: LocalRun) =>
  Object.fromEntries(Object.entries(run.tasks).map(([id, { state }]) => [id, state]));
const noSleep = async (): Promise<void> => {};

describe("A2: a local run has an interval", () => {
  const daily = (zone = "UTC") =>
    dag("daily", { schedule: "@daily", zone }, () => {
      task("dates", ({ dataInterval, logicalDate, ds, dsNodash, conf }) => [
        logicalDate.toISOString(),
        dataInterval.start.toISOString(),
        dataInterval.end.toISOString(),
        ds,
        dsNodash,
        conf,
      ]);
    });
  const datesIn = async (...args: Parameters<typeof runDag>) =>
    (await runDag(...args)).tasks["dates"]?.output;

  test("of the schedule, on a boundary", async () => {
    const day = [
      "2015-12-09T00:00:00.000Z",
      "2015-12-09T00:00:00.000Z",
      "2015-12-10T00:00:00.000Z",
      "2015-12-09",
      "20151209",
      {},
    ];
    expect(await datesIn(daily(), { logicalAt: "2015-12-09" })).toEqual(day);
    expect(await datesIn(daily(), { logicalAt: new Date("2015-12-09T00:00:00Z") })).toEqual(day);
    expect(await datesIn(daily(), { logicalAt: Date.UTC(2015, 11, 9) })).toEqual(day);
  });

  test("in the DAG's zone, over the change of clocks", async () => {
    expect(await datesIn(daily("Europe/Berlin"), { logicalAt: "2026-03-29" })).toEqual([
      "2026-03-28T23:00:00.000Z",
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z",
      "2026-03-29",
      "20260329",
      {},
    ]);
  });

  test("empty off a boundary, and as given", async () => {
    const run = await runDag(daily(), { now: () => Date.UTC(2026, 0, 1, 5, 0, 0, 7), conf: { a: 1 } });
    expect(run).toMatchObject({
      runId: "2026-01-01T05-00-00-007Z",
      dataInterval: {
        start: new Date("2026-01-01T05:00:00.007Z"),
        end: new Date("2026-01-01T05:00:00.007Z"),
      },
    });
    expect(run.tasks["dates"]?.output).toContainEqual({ a: 1 });
    const interval = { start: new Date("2026-01-01"), end: new Date("2026-02-01") };
    expect(await runDag(daily(), { interval })).toMatchObject({
      dataInterval: interval,
      runId: "2026-01-01T00-00-00Z",
    });
  });

  test("a date that is none", async () => {
    await expect(runDag(daily(), { logicalAt: "yesterday" })).rejects.toMatchObject({
      code: "instant_invalid",
    });
    await expect(runDag(daily(), { logicalAt: Number.NaN })).rejects.toMatchObject({ code: "bad_date" });
  });
});

describe("a local run", () => {
  test("README's example", async () => {
    const hello = dag("hello", { schedule: "*/5 * * * *", startDate: "2026-01-01" }, () => {
      const numbers = task("numbers", async () => [1, 2, 3]);
      const total = task("total", { inputs: { numbers } }, async ({ inputs, log }) => {
        log.info(`adding for ${inputs.numbers.length}`);
        return inputs.numbers.reduce((a, b) => a + b, 0);
      });
      task("report", { inputs: { total } }, ({ inputs, ds }) => `${ds}: ${inputs.total}`);
    });
    const lines: string[] = [];
    const run = await runDag(hello, {
      logicalAt: "2026-01-02",
      now: () => 5,
      log: (id, { at, level, text }) => lines.push(`${id} ${at} ${level} ${text}`),
    });
    expect(run).toMatchObject({ dagId: "hello", state: "success", runId: "2026-01-02T00-00-00Z" });
    expect(run.tasks["report"]).toEqual({
      state: "success",
      label: null,
      tries: 1,
      output: "2026-01-02: 6",
      error: null,
      message: null,
      log: [],
    });
    expect(run.tasks["total"]?.log).toEqual([{ at: 5, level: "info", text: "adding for 3" }]);
    expect(lines).toEqual(["total 5 info adding for 3"]);
  });

  test("retries with growing delays, then success", async () => {
    const slept: number[] = [];
    const seen: string[] = [];
    const made = dag("flaky", {}, () => {
      const options = { retries: 3, retryDelay: "10s", retryFactor: 2, maxRetryDelay: "15s" } as const;
      const flaky = task("flaky", options, ({ tryNumber, maxTries }) => {
        seen.push(`${tryNumber}/${maxTries}`);
        if (tryNumber < 4) throw new Error(`try ${tryNumber}`);
        return tryNumber;
      });
      task("after", { inputs: { flaky } }, ({ inputs }) => inputs.flaky);
    });
    const run = await runDag(made, { sleep: async (ms) => void slept.push(ms) });
    expect(run.state).toBe("success");
    expect(run.tasks["flaky"]).toMatchObject({ state: "success", tries: 4, output: 4, error: null });
    expect(run.tasks["after"]?.output).toBe(4);
    expect(seen).toEqual(["1/4", "2/4", "3/4", "4/4"]);
    expect(slept).toEqual([10_000, 15_000, 15_000]);
  });

  test("failures, skips and trigger rules; fail() is not retried", async () => {
    const made = dag("states", {}, () => {
      const ok = task("ok", () => 1);
      const failed = task("failed", { retries: 5 }, () => fail("for good"));
      const spent = task("spent", { retries: 1 }, () => {
        throw new TypeError("again");
      });
      const skipped = task("skipped", () => skip("nothing to do"));
      const wrong = task("wrong", { retries: 5 }, () => new Map());
      task("upstream_failed", { inputs: { failed, skipped } }, () => 1);
      task("skipped_too", { inputs: { skipped, ok } }, () => 1);
      task("all_done", { inputs: { ok, failed, skipped }, triggerRule: "all_done" }, ({ inputs }) => [
        inputs.ok ?? "none",
        inputs.failed ?? "none",
        "skipped" in inputs,
      ]);
      task("one_failed", { after: [failed, ok], triggerRule: "one_failed" }, () => 1);
      task("all_failed", { after: [failed, spent, wrong], triggerRule: "all_failed" }, () => 1);
    });
    const run = await runDag(made, { sleep: noSleep });
    expect(run.state).toBe("failed");
    expect(statesOf(run)).toEqual({
      ok: "success",
      failed: "failed",
      spent: "failed",
      skipped: "skipped",
      wrong: "failed",
      upstream_failed: "upstream_failed",
      skipped_too: "skipped",
      all_done: "success",
      one_failed: "success",
      all_failed: "success",
    });
    expect(run.tasks["failed"]).toMatchObject({
      tries: 1,
      error: { code: "Fail", message: "for good", retryable: false },
    });
    expect(run.tasks["spent"]).toMatchObject({ tries: 2, error: { code: "TypeError", message: "again" } });
    expect(run.tasks["wrong"]).toMatchObject({ tries: 1, error: { code: "output_not_json" } });
    expect(run.tasks["skipped"]).toMatchObject({ message: "nothing to do", output: undefined });
    expect(run.tasks["all_done"]?.output).toEqual([1, "none", false]);
    expect(run.tasks["upstream_failed"]).toMatchObject({ tries: 0, output: undefined });
  });

  test("a try past its time-out is told by the signal; what it says then no longer counts", async () => {
    const reasons: string[] = [];
    const made = dag("slow", {}, () => {
      task("heeds", { executionTimeout: 30, retries: 1 }, async ({ signal }) => {
        await pause(60_000, undefined, { signal }).catch(() => undefined);
        reasons.push((signal.reason as Error).name);
        return "too late";
      });
      task("deaf", { executionTimeout: 30 }, () => new Promise(() => {}));
      task("quick", { executionTimeout: "5s" }, () => "in time");
    });
    const run = await runDag(made, { sleep: noSleep, graceMs: 50 });
    expect(statesOf(run)).toEqual({ heeds: "failed", deaf: "failed", quick: "success" });
    expect(run.tasks["heeds"]).toMatchObject({
      tries: 2,
      error: { code: "execution_timeout", message: expect.stringContaining("30 ms") },
    });
    expect(reasons).toEqual(["AbortError", "AbortError"]);
  });

  test("cancelled from outside", async () => {
    const controller = new AbortController();
    const made = dag("long", {}, () => {
      const long = task(
        "long",
        { retries: 3 },
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
            controller.abort();
          }),
      );
      task("after", { after: [long] }, () => 1);
    });
    const run = await runDag(made, { signal: controller.signal });
    expect(run.state).toBe("cancelled");
    expect(statesOf(run)).toEqual({ long: "cancelled", after: "cancelled" });
    expect((await runDag(made, { signal: controller.signal })).state).toBe("cancelled");
  });

  test("bodies run side by side within the limit, higher priority first", async () => {
    let active = 0;
    let most = 0;
    const order: string[] = [];
    const made = dag("wide", {}, () => {
      for (let i = 0; i < 12; i++) {
        task(`t${i}`, { priorityWeight: i }, async ({ taskId }) => {
          order.push(taskId);
          most = Math.max(most, ++active);
          await pause(5);
          active -= 1;
        });
      }
    });
    expect((await runDag(made, { parallelism: 3 })).state).toBe("success");
    expect(most).toBe(3);
    expect(order.slice(0, 3)).toEqual(["t11", "t10", "t9"]);
  });

  test("each consumer has its own copy of an output", async () => {
    const made = dag("copies", {}, () => {
      const list = task("list", () => [1]);
      const first = task("first", { inputs: { list } }, ({ inputs }) => inputs.list.push(2));
      task("second", { inputs: { list, first } }, ({ inputs }) => inputs.list);
    });
    expect((await runDag(made)).tasks["second"]?.output).toEqual([1]);
  });

  test("connections: as given, or a clear error", async () => {
    const made = dag(
      "c",
      {},
      () => void task("reads", { retries: 3 }, ({ connection }) => connection("weather")),
    );
    expect((await runDag(made, { connection: (name) => `${name}!` })).tasks["reads"]?.output).toBe(
      "weather!",
    );
    expect((await runDag(made)).tasks["reads"]).toMatchObject({
      tries: 1,
      error: { code: "connection_missing" },
    });
  });

  test("a DAG without tasks succeeds", async () => {
    expect((await runDag(dag("empty", {}, () => {}))).state).toBe("success");
  });

  test("any graph settles, and no task starts before its upstreams are done", async () => {
    const edges = fc.array(fc.array(fc.nat(30), { maxLength: 4 }), { minLength: 1, maxLength: 12 });
    const outcomes = fc.array(fc.constantFrom("ok", "fail", "skip"), { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(edges, outcomes, async (graph, kinds) => {
        const done: string[] = [];
        const made = dag("any", {}, () => {
          const refs: TaskRef<unknown>[] = [];
          graph.forEach((ups, i) => {
            const after = i === 0 ? [] : ups.map((up) => refs[up % i]!);
            const body = ({ taskId }: { taskId: string }) => {
              for (const { id } of after) if (!done.includes(id)) throw new Error(`${taskId} before ${id}`);
              done.push(taskId);
              if (kinds[i] === "fail") fail("x");
              if (kinds[i] === "skip") skip();
            };
            refs.push(task(`t${i}`, { after }, body));
          });
        });
        const run = await runDag(made);
        expect(["success", "failed"]).toContain(run.state);
        expect(Object.values(statesOf(run))).not.toContain("none");
        for (const { error } of Object.values(run.tasks)) expect(error?.message ?? "x").toBe("x");
      }),
      { numRuns: 60 },
    );
  });
});
