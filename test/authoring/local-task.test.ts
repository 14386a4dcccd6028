import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { dag, fail, skip, task } from "../../authoring/index.ts";
import { renderTask, runDag, runTask } from "../../authoring/testing.ts";

const sales = dag(
  "sales",
  {
    schedule: "@daily",
    zone: "Europe/Berlin",
    params: z.object({ region: z.enum(["eu", "us"]).default("eu") }),
  },
  ({ task, taskGroup }) => {
    const rows = task("rows", () => [1, 2, 3]);
    taskGroup("load", () => {
      task(
        "total",
        { inputs: { rows }, retries: 2, templates: { path: "s3://sales/{{ ds }}/{{ params.region }}" } },
        ({ inputs, params, templates, ds, tryNumber, maxTries, dataInterval, connection, log }) => {
          log.info("adding");
          return {
            total: inputs.rows.reduce((a, b) => a + b, 0),
            region: params.region,
            path: templates.path,
            at: [ds, tryNumber, maxTries, dataInterval.end.toISOString(), connection("shop")],
          };
        },
      );
    });
    task("late", { inputs: { rows }, triggerRule: "all_done" }, ({ inputs }) => inputs.rows ?? "nothing");
    task("fails", () => fail("for good"));
    task("skips", () => skip("nothing to do"));
    task("slow", { executionTimeout: "20ms" }, ({ signal }) => pause(60_000, undefined, { signal }));
  },
);

describe("F1: one task, without a server", () => {
  it("a try with chosen upstream outputs, params, templates, interval, connections", async () => {
    const tried = await runTask(sales, "load.total", {
      logicalAt: "2026-05-09",
      inputs: { rows: [4, 5] },
      conf: { region: "us" },
      connection: (name) => `${name}!`,
      try: 2,
    });
    expect(tried).toMatchObject({
      dagId: "sales",
      taskId: "load.total",
      runId: "2026-05-08T22-00-00Z",
      state: "success",
      error: null,
      log: [{ level: "info", text: "adding" }],
    });
    expect(tried.output).toEqual({
      total: 9,
      region: "us",
      path: "s3://sales/2026-05-09/us",
      at: ["2026-05-09", 2, 3, "2026-05-09T22:00:00.000Z", "shop!"],
    });
  });

  it("ends as the body does", async () => {
    expect(await runTask(sales, "fails")).toMatchObject({
      state: "failed",
      output: undefined,
      error: { code: "Fail", message: "for good", retryable: false },
    });
    expect(await runTask(sales, "skips")).toMatchObject({ state: "skipped", message: "nothing to do" });
    expect(await runTask(sales, "slow")).toMatchObject({
      state: "timed_out",
      error: { code: "execution_timeout" },
    });
    const aborted = await runTask(sales, "slow", { signal: AbortSignal.abort() });
    expect(aborted.state).toBe("cancelled");
    expect(await runTask(sales, "load.total", { inputs: { rows: [] } })).toMatchObject({
      state: "failed",
      error: { code: "connection_missing", message: expect.stringContaining("connectionsFrom(process.env)") },
    });
  });

  it("under a rule that bears a missing upstream an input may be missing", async () => {
    expect((await runTask(sales, "late")).output).toBe("nothing");
    expect((await runTask(sales, "late", { inputs: { rows: [1] } })).output).toEqual([1]);
  });

  it("an input arrives as it would in a run: a copy, and nothing that JSON loses", async () => {
    const rows = [1];
    const made = dag("copy", {}, () => {
      const rows = task("rows", () => [1]);
      task("push", { inputs: { rows } }, ({ inputs }) => inputs.rows.push(2));
    });
    await runTask(made, "push", { inputs: { rows } });
    expect(rows).toEqual([1]);
    await expect(runTask(made, "push", { inputs: { rows: [{ at: new Date(0) }] } })).rejects.toThrow(
      'input "rows"[0].at is a Date, which JSON cannot hold; return value.toISOString()',
    );
    await expect(runTask(made, "push", { inputs: { rows: [1] }, conf: { x: NaN } })).rejects.toThrow(
      "conf.x is NaN",
    );
  });

  it("says what is wrong with what it was given", async () => {
    await expect(runTask(sales, "load.totl")).rejects.toThrow(
      'dag "sales" has no task "load.totl"; did you mean "load.total"?',
    );
    await expect(runTask(sales, "total")).rejects.toThrow('has no task "total"; did you mean "load.total"?');
    await expect(runTask(sales, "zzz")).rejects.toThrow("it has rows, load.total, late, fails, skips, slow");
    await expect(runTask(sales, "load.total")).rejects.toThrow(
      'task "load.total" reads "rows" (the output of task "rows"): give a value for each',
    );
    await expect(runTask(sales, "late", { inputs: { row: [1] } })).rejects.toThrow(
      'has no input "row"; did you mean "rows"?',
    );
    await expect(runTask(sales, "fails", { inputs: { row: 1 } })).rejects.toThrow('"row"; it has none');
  });

  it("templates alone", async () => {
    expect(
      await renderTask(sales, "load.total", { logicalAt: "2026-03-29", conf: { region: "us" } }),
    ).toEqual({
      path: "s3://sales/2026-03-29/us",
    });
    expect(await renderTask(sales, "fails")).toEqual({});
    await expect(renderTask(sales, "total")).rejects.toThrow("did you mean");
    await expect(renderTask(sales, "load.total", { conf: { region: "mars" } })).rejects.toThrow("region");
  });
});

describe("F1: the fake clock", () => {
  const clock = dag("clock", { schedule: "@daily", zone: "Europe/Berlin" }, () => {
    task("reads", async () => {
      const called = (Date as unknown as () => string)();
      await pause(5);
      return {
        now: Date.now(),
        iso: new Date().toISOString(),
        called: new Date(called).getTime(),
        given: new Date(5).getTime(),
        real: new Date() instanceof Date && Object.prototype.toString.call(new Date()) === "[object Date]",
        utc: Date.UTC(2026, 0, 1),
      };
    });
  });
  interface Read {
    readonly now: number;
    readonly iso: string;
    readonly called: number;
    readonly given: number;
    readonly real: boolean;
    readonly utc: number;
  }
  const at = Date.parse("2001-02-03T04:00:00Z");

  it("begins where it is told, in the DAG's zone, and goes on; dates are real ones", async () => {
    for (const now of ["2001-02-03T05:00", "2001-02-03T04:00:00Z", new Date(at), at]) {
      const run = await runDag(clock, { now });
      const read = run.tasks["reads"]!.output as Read;
      expect(read.now).toBeGreaterThanOrEqual(at + 4);
      expect(read.now).toBeLessThan(at + 60_000);
      expect(read.iso).toMatch(/^2001-02-03T04:00/);
      expect(read.called).toBe(at);
      expect(read).toMatchObject({ given: 5, real: true, utc: Date.UTC(2026, 0, 1) });
      // What a manual run is about, when nobody says it.
      expect(run.logicalDate.toISOString()).toMatch(/^2001-02-03T04:00/);
    }
  });

  it("is the body's alone: others go on with the real one, and a second run with its own", async () => {
    const before = globalThis.Date;
    const first = runTask(clock, "reads", { now: () => 1000.5 });
    const second = runTask(clock, "reads", { now: () => 2000 });
    expect(Date.now()).toBeGreaterThan(at);
    const real = runTask(clock, "reads");
    expect(((await first).output as Read).now).toBe(1000);
    expect(((await second).output as Read).now).toBe(2000);
    expect(((await real).output as Read).now).toBeGreaterThan(at);
    expect(globalThis.Date).toBe(before);
  });

  it("logs carry its time; a wrong one is refused", async () => {
    const logs = dag("logs", {}, () => void task("a", ({ log }) => log.info("x")));
    expect((await runTask(logs, "a", { now: () => 7 })).log[0]!.at).toBe(7);
    await expect(runTask(logs, "a", { now: new Date(NaN) })).rejects.toThrow("now is Invalid Date; expected");
  });
});
