import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { dag, fail, sensor, skip, task, waitFor, waitForRun, waitUntil } from "../../authoring/index.ts";
import type { Dag } from "../../authoring/index.ts";
import { runDag, type LocalRun, type RunOptions } from "../../authoring/testing.ts";

const inDag = (build: () => void): Dag => dag("waits", { schedule: "@daily" }, build);
const noSleep = async (): Promise<void> => {};
const statesOf = (run: LocalRun): Record<string, string> => ({
  run: run.state,
  ...Object.fromEntries(Object.entries(run.tasks).map(([id, { state }]) => [id, state])),
});

/** A clock that only sleeping moves. */
function clock(): Pick<RunOptions, "now" | "sleep"> & { readonly at: () => number; wait(ms: number): void } {
  let at = Date.UTC(2026, 4, 9);
  const wait = (ms: number): void => void (at += ms);
  return { now: () => at, sleep: async (ms) => wait(ms), at: () => at, wait };
}

/** Answers one after the other, the last one ever after. */
function answers<T>(...list: readonly (() => T)[]): (() => T) & { count: number } {
  const next = Object.assign(() => list[Math.min(next.count++, list.length - 1)]!(), { count: 0 });
  return next;
}

describe("A6: sensors in a local run", () => {
  test("A6: false, null and undefined are not yet; the first other answer is the output, whatever it is", async () => {
    for (const found of [0, "", "x", true, [], { a: 1 }]) {
      const check = answers<unknown>(
        () => false,
        () => null,
        () => undefined,
        () => found,
      );
      const made = inDag(() => {
        const there = sensor("there", () => check());
        task("read", { inputs: { there } }, ({ inputs }) => ({ got: inputs.there }));
      });
      const run = await runDag(made, { sleep: noSleep });
      expect(run.tasks["there"]).toMatchObject({ state: "success", output: found, tries: 1 });
      expect(run.tasks["read"]?.output).toEqual({ got: found });
      expect(check.count).toBe(4);
    }
  });

  test("A6: its first answer may end it at once; between two checks lies its rest", async () => {
    const time = clock();
    const times: number[] = [];
    const made = inDag(() => {
      sensor("at_once", () => "here");
      sensor("later", { every: "2m" }, async () => times.push(time.at()) === 3);
    });
    const states: string[] = [];
    const run = await runDag(made, { ...time, onState: (id, state) => id === "later" && states.push(state) });
    expect(statesOf(run)).toEqual({ run: "success", at_once: "success", later: "success" });
    expect(times.map((at) => (at - times[0]!) / 1000)).toEqual([0, 120, 240]);
    expect(states).toEqual(["queued", "running", "deferred", "success"]);
    expect(run.tasks["later"]?.log.map(({ text }) => text)).toEqual([
      "not yet: it is asked again, at most a second later, and given up after a minute",
    ]);
  });

  test("regression A6: one that says no for a minute of real time is given up, and says what to do", async () => {
    let real = 0;
    const now = vi.spyOn(performance, "now").mockImplementation(() => (real += 10_000));
    const made = inDag(() => {
      const never = sensor("never", { timeout: null, retries: 3 }, () => false);
      task("after", { after: [never] }, () => 1);
    });
    const run = await runDag(made, { sleep: noSleep }).finally(() => now.mockRestore());
    expect(statesOf(run)).toEqual({ run: "failed", never: "failed", after: "upstream_failed" });
    expect(run.tasks["never"]).toMatchObject({ tries: 1, error: { code: "not_there" } });
    expect(run.tasks["never"]?.error?.message).toMatch(/has said no for a minute.*runTask\(\)/);
  });

  test("A6: a deferred one holds no slot", async () => {
    const order: string[] = [];
    const made = inDag(() => {
      sensor("first", { priorityWeight: 2 }, () => order.includes("work"));
      task("work", () => void order.push("work"));
    });
    expect((await runDag(made, { parallelism: 1, sleep: noSleep })).state).toBe("success");
  });

  test("A6: a check that throws is a failed try; skip() and fail() do what they do in a body", async () => {
    const check = answers<boolean>(
      () => false,
      () => {
        throw new Error("the server is away");
      },
      () => false,
      () => true,
    );
    const made = inDag(() => {
      sensor("flaky", { retries: 1, retryDelay: "1s" }, () => check());
      const no = answers<unknown>(
        () => false,
        () => skip("no need"),
      );
      sensor("skips", () => no());
      const never = answers<unknown>(
        () => false,
        () => fail("never"),
      );
      sensor("fails", { retries: 3 }, () => never());
    });
    const run = await runDag(made, { sleep: noSleep });
    expect(run.tasks["flaky"]).toMatchObject({ state: "success", tries: 2, output: true });
    expect(run.tasks["skips"]).toMatchObject({ state: "skipped", message: "no need" });
    expect(run.tasks["fails"]).toMatchObject({ state: "failed", tries: 1, error: { message: "never" } });
  });

  test("A6: what a check sees is what a body sees", async () => {
    const made = dag(
      "waits",
      { schedule: "@daily", params: z.object({ region: z.string().default("eu") }) },
      (tools) => {
        const n = task("n", () => 2);
        const seen: string[] = [];
        tools.sensor(
          "ready",
          { inputs: { n }, templates: { path: "{{ ds }}" } },
          ({ inputs, params, templates, try: number, mapIndex }) => {
            seen.push([inputs.n, params.region, templates.path, number, mapIndex].join(" "));
            return seen.length === 2 && seen;
          },
        );
      },
    );
    const run = await runDag(made, { sleep: noSleep, logicalAt: "2026-05-09" });
    expect(run.tasks["ready"]?.output).toEqual(["2 eu 2026-05-09 1 ", "2 eu 2026-05-09 1 "]);
  });

  test("A6 A7: mapped: each instance waits for itself, and tasks are mapped over what one finds", async () => {
    const asked = new Map<string, number>();
    const made = inDag(() => {
      const found = sensor("found", { expand: { day: ["mon", "tue"] }, maxActivePerRun: 1 }, ({ inputs }) => {
        const times = (asked.get(inputs.day) ?? 0) + 1;
        asked.set(inputs.day, times);
        return times > (inputs.day === "mon" ? 3 : 1) && inputs.day;
      });
      task("all", { inputs: { found } }, ({ inputs }) => inputs.found);
      const files = answers<string[] | false>(
        () => false,
        () => ["a", "b"],
      );
      const list = sensor("list", () => files());
      task("load", { expand: { file: list } }, ({ inputs }) => inputs.file);
    });
    const run = await runDag(made, { sleep: noSleep });
    expect(run.tasks["all"]?.output).toEqual(["mon", "tue"]);
    expect(run.tasks["load[1]"]?.output).toBe("b");
  });

  test("A6: the run ends while one waits: it is cancelled, and what it checks is stopped", async () => {
    const controller = new AbortController();
    let stopped = false;
    const made = inDag(() => {
      const check = answers<unknown>(
        () => false,
        () => "hangs",
      );
      sensor("slow", async ({ signal }) => {
        if (check() === false) return false;
        controller.abort();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        stopped = true;
        return true;
      });
    });
    const run = await runDag(made, { sleep: noSleep, signal: controller.signal });
    expect(statesOf(run)).toEqual({ run: "cancelled", slow: "cancelled" });
    await expect.poll(() => stopped).toBe(true);
  });
});

describe("K37 A6: the time-out spans retries", () => {
  const hour = 3_600_000;
  /** Checks at 0 s and each minute; throws once, at ten minutes. */
  const made = (more: { softFail?: boolean }, time: ReturnType<typeof clock>) => {
    const throwsAt = time.at() + 600_000;
    let thrown = false;
    return inDag(() => {
      const never = sensor(
        "never",
        { timeout: "1h", every: "1m", retries: 1, retryDelay: 0, ...more },
        () => {
          if (time.at() < throwsAt || thrown) return false;
          thrown = true;
          throw new Error("once");
        },
      );
      task("after", { after: [never] }, () => {});
    });
  };

  test("K37 A6: try 2 has what try 1 left of it; then it fails, whatever the retries", async () => {
    const time = clock();
    const from = time.at();
    const failures: string[] = [];
    const run = await runDag(made({}, time), {
      ...time,
      onFailedTry: (id, number, { code }) =>
        failures.push(`${id} ${number} ${code} ${(time.at() - from) / 1000}`),
    });
    expect(statesOf(run)).toEqual({ run: "failed", never: "failed", after: "upstream_failed" });
    expect(failures).toEqual(["never 1 Error 600", "never 2 wait_timeout 3600"]);
    expect(time.at() - from).toBe(hour);
  });

  test("K37 A6: with softFail it is skipped, and so is what comes after it", async () => {
    const run = await runDag(made({ softFail: true }, clock()), clock());
    expect(statesOf(run)).toEqual({ run: "success", never: "skipped", after: "skipped" });
    expect(run.tasks["never"]?.message).toContain("within its timeout of 3600000 ms");
  });

  test("K37 A6: polling within one check and being asked again end alike, at the same time", async () => {
    for (const softFail of [false, true]) {
      const began = performance.now();
      const took: number[] = [];
      const run = await runDag(
        inDag(() => {
          const bounds = { timeout: 400, softFail, retries: 2, retryDelay: 0 } as const;
          sensor("in_place", bounds, async ({ signal }) => {
            while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
          });
          sensor("asked_again", { ...bounds, every: "1s" }, () => false);
        }),
        {
          sleep: async (ms) => await new Promise((resolve) => setTimeout(resolve, Math.min(ms, 20))),
          onState: (_, state) =>
            (state === "failed" || state === "skipped") && took.push(performance.now() - began),
        },
      );
      const end = softFail ? "skipped" : "failed";
      expect(statesOf(run)).toMatchObject({ in_place: end, asked_again: end });
      expect([run.tasks["in_place"]?.tries, run.tasks["asked_again"]?.tries]).toEqual([1, 1]);
      for (const ms of took) expect(ms).toBeGreaterThanOrEqual(395);
      expect(Math.abs(took[0]! - took[1]!)).toBeLessThan(300);
    }
  });
});

describe("A6: waits without a body in a local run", () => {
  const payload = z.object({ by: z.string(), note: z.string().default("none") });
  const approval = (): Dag =>
    inDag(() => {
      const approved = waitFor("approval", { payload });
      task("pay", { inputs: { approved } }, ({ inputs }) => inputs.approved);
    });

  test("A6: waitFor gives what it is ended with, as it was sent", async () => {
    const run = await runDag(approval(), { events: { approval: { by: "me" } } });
    expect(run.tasks["approval"]).toMatchObject({ state: "success", tries: 1, output: { by: "me" } });
    expect(run.tasks["pay"]?.output).toEqual({ by: "me" });
  });

  test("A6: without it the wait fails at once, and says how to give it", async () => {
    const run = await runDag(approval());
    expect(statesOf(run)).toEqual({ run: "failed", approval: "failed", pay: "upstream_failed" });
    expect(run.tasks["approval"]?.error).toMatchObject({
      code: "no_event",
      message: expect.stringContaining("--event approval=JSON"),
    });
  });

  test("A6: what does not fit is refused before anything runs, and so is what nothing waits for", async () => {
    const wrong = async (events: Record<string, unknown>) => runDag(approval(), { events });
    await expect(wrong({ approval: { by: 5, on: 1 } })).rejects.toMatchObject({
      code: "bad_payload",
      message: expect.stringContaining("by: Invalid input: expected string"),
    });
    await expect(wrong({ approval: { by: "me", on: 1 } })).rejects.toThrow("on: does not exist");
    await expect(wrong({ aproval: {} })).rejects.toThrow('did you mean "approval"?');
    await expect(wrong({ approval: { by: new Date() } })).rejects.toMatchObject({ code: "bad_value" });
  });

  test("A6 A7: mapped: each instance by its name, or all by their task's id; a list is mapped over", async () => {
    const made = inDag(() => {
      const each = waitFor("each", { expand: { shop: ["a", "b"] }, payload: z.number() });
      task("sum", { inputs: { each } }, ({ inputs }) => inputs.each);
      const list = waitFor("list", { payload: z.array(z.string()) });
      task("load", { expand: { file: list } }, ({ inputs }) => inputs.file);
    });
    const run = await runDag(made, { events: { "each[1]": 5, each: 3, list: ["x", "y"] } });
    expect(run.tasks["sum"]?.output).toEqual([3, 5]);
    expect(run.tasks["load[1]"]?.output).toBe("y");
    const none = await runDag(made, { events: { each: 3, list: [] } });
    expect(none.tasks["load"]?.state).toBe("skipped");
  });

  test("A6: waitUntil passes at once, and says until when it would have waited", async () => {
    const made = dag("waits", { schedule: "@daily", zone: "Europe/Berlin" }, () => {
      waitUntil("six", { time: "06:00" });
      waitUntil("rested", { delay: "30m" });
      waitUntil("said", { at: "{{ conf.opening }}" });
    });
    const options = { logicalAt: "2026-05-09" };
    const run = await runDag(made, { ...options, conf: { opening: "2026-05-12T08:00" } });
    const logged = Object.values(run.tasks).map(({ log }) => log[0]?.text);
    expect(run.state).toBe("success");
    expect(logged).toEqual([
      "would wait until 2026-05-10T04:00:00Z; a local run goes on",
      "would wait until 2026-05-09T22:30:00Z; a local run goes on",
      "would wait until 2026-05-12T06:00:00Z; a local run goes on",
    ]);
    const unset = await runDag(made, options);
    expect(unset.tasks["said"]).toMatchObject({ state: "failed", error: { code: "template_unset" } });
  });

  test("A6: waitForRun passes at once, and says that it does not look; a test may say that the other failed", async () => {
    const made = inDag(() => {
      waitForRun("other", { dag: "sales", task: "load", before: "1d", retries: 1, retryDelay: 0 });
    });
    const run = await runDag(made, { logicalAt: "2026-05-09" });
    expect(run.tasks["other"]).toMatchObject({ state: "success", output: null });
    expect(run.tasks["other"]?.log[0]?.text).toBe(
      'would wait for task "load" in run "2026-05-08T00-00-00Z" of dag "sales", which a local run does not look at; a local run goes on',
    );
    const failed = await runDag(made, { otherRuns: { other: "failed" }, sleep: noSleep });
    expect(failed.tasks["other"]).toMatchObject({ state: "failed", tries: 2 });
    await expect(runDag(made, { otherRuns: { othr: "failed" } })).rejects.toThrow('did you mean "other"?');
    await expect(runDag(made, { otherRuns: { other: "x" as "failed" } })).rejects.toThrow(
      'expected "success"',
    );
  });
});
