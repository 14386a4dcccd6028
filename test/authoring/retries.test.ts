import { describe, expect, test } from "vitest";
import { dag, retryAfter, task, waitAndRetry } from "../../authoring/index.ts";
import type { Dag, TaskDefaults } from "../../authoring/index.ts";
import { outcomeOf } from "../../authoring/outcome.ts";
import { runDag } from "../../authoring/testing.ts";

const oneTask = (options: TaskDefaults, body: (tryNumber: number) => unknown): Dag =>
  dag("sales", {}, () => void task("t", options, ({ tryNumber }) => body(tryNumber)));

async function waitsOf(options: TaskDefaults, body: (tryNumber: number) => unknown) {
  const waits: number[] = [];
  const { tasks } = await runDag(oneTask(options, body), { sleep: async (ms) => void waits.push(ms) });
  return { ...tasks["t"]!, waits };
}

class BusyError extends Error {}
class NamedError extends Error {
  override readonly name = "Named";
}
const always = (error: new (text: string) => Error) => () => {
  throw new error("x");
};

describe("A5: retryRules", () => {
  test("A5: in the graph: by name, by class, any; delays in ms; nothing when there are none", () => {
    const made = oneTask(
      {
        retryRules: [
          { error: BusyError, action: "wait", delay: "10s" },
          { error: TypeError, action: "retry" },
          { error: "execution_timeout", action: "fail" },
          { error: "*", action: "retry", delay: 5 },
        ],
        retryJitter: 0.25,
      },
      () => 1,
    );
    expect(made.graph.tasks[0]).toMatchObject({
      retryJitter: 0.25,
      retryRules: [
        { error: "BusyError", action: "wait", delayMs: 10_000 },
        { error: "TypeError", action: "retry" },
        { error: "execution_timeout", action: "fail" },
        { error: "*", action: "retry", delayMs: 5 },
      ],
    });
    const plain = oneTask({}, () => 1).graph.tasks[0]!;
    expect(["retryJitter" in plain, "retryRules" in plain]).toEqual([false, false]);
  });

  test("A5: a class is known by what its errors are called", async () => {
    for (const error of [BusyError, TypeError]) {
      const run = await waitsOf({ retries: 3, retryRules: [{ error, action: "fail" }] }, always(error));
      expect([run.state, run.tries]).toEqual(["failed", 1]);
    }
    const named = await waitsOf(
      { retries: 1, retryRules: [{ error: "Named", action: "fail" }] },
      always(NamedError),
    );
    expect(named.tries).toBe(1);
  });

  test("A5: a delay of its own; waits use up no retry; the first that fits counts", async () => {
    const options: TaskDefaults = {
      retries: 1,
      retryDelay: "1m",
      retryRules: [
        { error: BusyError, action: "wait", delay: "7s" },
        { error: "BusyError", action: "fail" },
        { error: RangeError, action: "retry", delay: "3s" },
      ],
    };
    const run = await waitsOf(options, (n) => {
      if (n <= 4) throw new BusyError("x");
      if (n === 5) throw new RangeError("x");
      throw new Error("x");
    });
    expect(run).toMatchObject({ state: "failed", tries: 6, waits: [7000, 7000, 7000, 7000, 3000] });
  });

  test("A5: a time-out has a name too", async () => {
    const run = await waitsOf(
      { retries: 3, executionTimeout: 5, retryRules: [{ error: "execution_timeout", action: "fail" }] },
      async () => await new Promise(() => {}),
    );
    expect([run.state, run.tries]).toEqual(["failed", 1]);
  });

  test("A5: in defaults of a DAG and of a group, as every such option", () => {
    const retryRules = [{ error: "X", action: "fail" }] as const;
    const { graph } = dag("d", { defaults: { retryJitter: 0.5, retryRules } }, ({ task: own, taskGroup }) => {
      own("a", () => 1);
      taskGroup("g", { defaults: { retryRules: [] } }, () => void own("b", () => 1));
    });
    expect(graph.tasks.map(({ retryJitter, retryRules: rules }) => [retryJitter, rules])).toEqual([
      [0.5, retryRules],
      [0.5, undefined],
    ]);
  });

  const loose = task as unknown as (...args: unknown[]) => unknown;
  test.each([
    ["no list", "fail", "expected a list of rules"],
    ["no object", ["X"], 'rule 1 of it is "X"; expected an object'],
    [
      "a misspelt key",
      [{ error: "X", acton: "fail" }],
      'has "acton", which does not exist; did you mean "action"?',
    ],
    ["no error", [{ action: "fail" }], "has undefined as error; expected the name of a class"],
    [
      "another action",
      [
        { error: "X", action: "fail" },
        { error: "Y", action: "stop" },
      ],
      'rule 2 of it has "stop" as action; expected "retry", "fail" or "wait"',
    ],
    [
      "no duration",
      [{ error: "X", action: "wait", delay: "soon" }],
      'has "soon" as delay; expected a number of',
    ],
    ["a delay before failing", [{ error: "X", action: "fail", delay: 1 }], "its delay would not count"],
  ])("A5: refused: %s", (_title, rules, message) => {
    const define = () => dag("d", {}, () => void loose("t", { retryRules: rules }, () => 1));
    expect(define).toThrow('dag "d", task "t": option "retryRules"');
    expect(define).toThrow(message);
  });
});

describe("A5: retryAfter and waitAndRetry", () => {
  test("A5: retryAfter names the wait and uses up a retry", async () => {
    const run = await waitsOf({ retries: 2 }, () => retryAfter("30s", "too many requests"));
    expect(run).toMatchObject({ state: "failed", tries: 3, waits: [30_000, 30_000] });
    expect(run.error).toMatchObject({ code: "RetryAfter", message: "too many requests" });
  });

  test("A5: waitAndRetry uses up none, and outweighs the rules", async () => {
    const run = await waitsOf({ retries: 0, retryRules: [{ error: "*", action: "fail" }] }, (n) => {
      if (n < 30) waitAndRetry(250);
      return "done";
    });
    expect(run).toMatchObject({ state: "success", tries: 30, output: "done" });
    expect(new Set(run.waits)).toEqual(new Set([250]));
  });

  test("A5: retryAfter uses up a retry even where the rules would not", async () => {
    const run = await waitsOf({ retries: 1, retryRules: [{ error: "*", action: "wait" }] }, () =>
      retryAfter(1),
    );
    expect([run.state, run.tries]).toEqual(["failed", 2]);
  });

  test("A5: they keep the cause, and their stack begins in the author's code", () => {
    const cause = new Error("429");
    try {
      retryAfter("1s", "x", { cause });
    } catch (thrown) {
      expect((thrown as Error).cause).toBe(cause);
      expect((thrown as Error).stack!.split("\n")[1]).toContain("retries.test.ts");
      expect(outcomeOf(thrown)).toMatchObject({
        kind: "failed",
        error: { retryable: true, retryDelayMs: 1000, waits: false },
      });
    }
    expect.assertions(3);
  });

  test("A5: a delay that is none fails for good and says what was expected", async () => {
    const run = await waitsOf({ retries: 3 }, () => retryAfter("soon" as never));
    expect(run).toMatchObject({ state: "failed", tries: 1, error: { code: "bad_delay" } });
    expect(run.error!.message).toBe(
      'retryAfter() is given "soon" as its delay; expected a number of milliseconds or a text like "30s", "5m", "1h", "2d"',
    );
    expect((await waitsOf({ retries: 3 }, () => waitAndRetry(NaN))).tries).toBe(1);
  });
});

describe("K34: long back-off", () => {
  const backOff: TaskDefaults = { retryDelay: "300s", retryFactor: 2, maxRetryDelay: "1h" };

  test("K34: 300 600 1200 2400 3600 3600 … seconds; retries 1,000 are 1,001 tries", async () => {
    const run = await waitsOf({ ...backOff, retries: 1000 }, always(Error));
    expect([run.state, run.tries, run.waits.length]).toEqual(["failed", 1001, 1000]);
    expect(run.waits.slice(0, 6).map((ms) => ms / 1000)).toEqual([300, 600, 1200, 2400, 3600, 3600]);
    expect(run.waits.at(-1)).toBe(3_600_000);
  });

  test("K34: jitter only shortens: never above the cap, never below what it leaves", async () => {
    const { waits } = await waitsOf({ ...backOff, retries: 60, retryJitter: 0.5 }, always(Error));
    const [first, ...later] = waits;
    expect(first).toBeGreaterThanOrEqual(150_000);
    expect(first).toBeLessThanOrEqual(300_000);
    const capped = later.slice(3);
    expect(Math.max(...capped)).toBeLessThanOrEqual(3_600_000);
    expect(Math.min(...capped)).toBeGreaterThanOrEqual(1_800_000);
    expect(new Set(capped).size).toBeGreaterThan(40);
  });

  test("K34: a delay of 0 stays 0; without a cap it is still a number", async () => {
    const none = await waitsOf({ ...backOff, retryDelay: 0, retries: 1000 }, always(Error));
    expect(new Set(none.waits)).toEqual(new Set([0]));
    const free = await waitsOf({ ...backOff, maxRetryDelay: null, retries: 1000 }, always(Error));
    expect(free.waits.every((ms) => Number.isFinite(ms) && ms > 0)).toBe(true);
  });
});
