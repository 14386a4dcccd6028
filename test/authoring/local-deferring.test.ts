import { describe, expect, test } from "vitest";
import { dag, defer, sensor, task, taskGroup, waitFor } from "../../authoring/index.ts";
import type { Dag } from "../../authoring/index.ts";
import { runDag, runTask, type RunOptions } from "../../authoring/testing.ts";

const inDag = (build: () => void): Dag => dag("waits", { schedule: "@daily" }, build);
const noSleep = async (): Promise<void> => {};
/** A clock that only sleeping moves. */
function clock(): Pick<RunOptions, "now" | "sleep"> & { readonly at: () => number; wait(ms: number): void } {
  let at = Date.UTC(2026, 4, 9);
  const wait = (ms: number): void => void (at += ms);
  return { now: () => at, sleep: async (ms) => wait(ms), at: () => at, wait };
}

describe("A6: a body that defers", () => {
  test("A6: for a time: it is called anew in the same try, with what it kept", async () => {
    const seen: unknown[] = [];
    const time = clock();
    const made = inDag(() => {
      task("export", ({ resumed, try: number }) => {
        seen.push([resumed, number, time.at()]);
        if (resumed === undefined) defer({ for: "10m" }, { state: { job: 7 } });
        return (resumed.state as { job: number }).job;
      });
    });
    const from = time.at();
    const run = await runDag(made, time);
    expect(run.tasks["export"]).toMatchObject({ state: "success", output: 7, tries: 1 });
    expect(seen).toEqual([
      [undefined, 1, from],
      [{ payload: null, state: { job: 7 } }, 1, from + 600_000],
    ]);
  });

  test("A6: until an instant, by a Date or a text with its offset; several times in one try", async () => {
    const time = clock();
    const from = time.at();
    const made = inDag(() => {
      task("twice", ({ resumed }) => {
        if (resumed === undefined) defer({ until: new Date(from + 5_000) }, { state: 1 });
        if (resumed.state === 1) defer({ until: new Date(from + 9_000).toISOString() }, { state: 2 });
        return time.at() - from;
      });
    });
    expect((await runDag(made, time)).tasks["twice"]).toMatchObject({ output: 9_000, tries: 1 });
  });

  test("A6: until somebody ends it; its address is in its context", async () => {
    const made = inDag(() => {
      const other = waitFor("other");
      task("ask", ({ resumed, waitUrl }) => {
        if (resumed === undefined)
          defer({ event: true }, { state: [waitUrl(), waitUrl(other), waitUrl("other")] });
        return resumed;
      });
    });
    const run = await runDag(made, { events: { ask: { ok: true }, other: 1 }, logicalAt: "2026-05-09" });
    const at = (id: string) => `http://local-run.invalid/waits/2026-05-09T00-00-00Z/${id}`;
    expect(run.tasks["ask"]?.output).toEqual({
      payload: { ok: true },
      state: [at("ask"), at("other"), at("other")],
    });
    const none = await runDag(made, { events: { other: 1 } });
    expect(none.tasks["ask"]).toMatchObject({ state: "failed", error: { code: "no_event" } });
  });

  test("A6 A7: in a mapped group it is the address of the instance that goes with it", async () => {
    const made = inDag(() => {
      const shops = task("shops", () => ["a", "b"]);
      const ended = taskGroup("each", { expand: { shop: shops } }, () => {
        const asked = task("ask", ({ waitUrl }) => waitUrl("each.ok"));
        waitFor("ok", { after: [asked] });
        return asked;
      });
      task("all", { inputs: { asked: ended.returned } }, ({ inputs, waitUrl }) => {
        let why = "";
        try {
          waitUrl("each.ok");
        } catch (error) {
          why = (error as Error).message;
        }
        return { asked: inputs.asked.map((url) => decodeURIComponent(url).split("/").at(-1)), why };
      });
    });
    const run = await runDag(made, { events: { "each.ok": true } });
    expect(run.tasks["all"]?.output).toEqual({
      asked: ["each.ok[0]", "each.ok[1]"],
      why: expect.stringContaining("one of a mapped group is known to the tasks inside of it alone"),
    });
  });

  test("A6: waitUrl of what nobody ends says which there are", async () => {
    const made = inDag(() => {
      waitFor("approval");
      task("mail", ({ waitUrl }) => waitUrl("aproval"));
    });
    const run = await runDag(made, { events: { approval: null } });
    expect(run.tasks["mail"]?.error).toMatchObject({
      code: "no_wait",
      message:
        'waitUrl() is given "aproval", which is no wait of dag "waits" that somebody could end; did you mean "approval"?',
    });
  });

  test("K38 A5 A6: the execution time-out is that of the try, its wait included; the next try has its own", async () => {
    const time = clock();
    const from = time.at();
    const failures: string[] = [];
    const longer = await runDag(
      inDag(() => {
        task("longer", { executionTimeout: "60s", retries: 1, retryDelay: 0 }, ({ try: number, resumed }) => {
          if (resumed === undefined) defer({ for: number === 1 ? "10m" : "5s" });
          return (time.at() - from) / 1000;
        });
      }),
      {
        ...time,
        onFailedTry: (_, number, { code }) => failures.push(`${number} ${code} ${(time.at() - from) / 1000}`),
      },
    );
    expect(failures).toEqual(["1 execution_timeout 60"]);
    expect(longer.tasks["longer"]).toMatchObject({ state: "success", tries: 2, output: 65 });
  });

  test("K38 A5 A6: in real time: what is left of it bounds the body that goes on", async () => {
    const began = performance.now();
    const made = inDag(() => {
      task("slow", { executionTimeout: 600 }, async ({ resumed, signal }) => {
        if (resumed === undefined) defer({ for: 400 });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
    });
    const run = await runDag(made);
    expect(run.tasks["slow"]).toMatchObject({ state: "failed", error: { code: "execution_timeout" } });
    const took = performance.now() - began;
    expect(took).toBeGreaterThanOrEqual(590);
    expect(took).toBeLessThan(990);
  });

  test("A6: a wrong defer fails the task at once, and says what was expected", async () => {
    const loose = defer as (...args: unknown[]) => never;
    const cases: readonly (readonly [unknown[], string])[] = [
      [[], "defer() is given undefined; expected one of { event: true }"],
      [[{ for: "1s", event: true }], "an object with for and event"],
      [[{ fr: "1s" }], "an object with fr"],
      [[{ for: "soon" }], 'for: "soon"; expected a number of milliseconds'],
      [[{ event: "x" }], 'event: "x"'],
      [[{ event: { timeOut: 1 } }], '"timeOut", which does not exist; expected timeout'],
      [[{ event: { timeout: 0 } }], "above 0, or null"],
      [[{ until: "2026-05-09T06:00" }], "an instant with its offset"],
      [[{ until: new Date(Number.NaN) }], "expected a Date"],
      [[{ for: "1s" }, { state: { at: new Date(0) } }], "state.at is a Date, which JSON cannot hold"],
      [[{ for: "1s" }, { state: "x".repeat(70_000) }], "the limit is 64.0 KiB"],
    ];
    for (const [given, message] of cases) {
      const made = inDag(() => void task("wrong", { retries: 2 }, () => loose(...given)));
      const run = await runDag(made, { sleep: noSleep });
      expect(run.tasks["wrong"], message).toMatchObject({
        state: "failed",
        tries: 1,
        error: { code: "bad_defer", message: expect.stringContaining(message) },
      });
    }
  });

  test("A6: a check does not defer", async () => {
    for (const check of [() => defer({ for: "1s" }), async () => defer({ for: "1s" })]) {
      const run = await runDag(
        inDag(() => void sensor("check", check)),
        { sleep: noSleep },
      );
      expect(run.tasks["check"]?.error?.message).toContain("defer() is called in the check of a sensor");
    }
  });
});

describe("A6: one task alone", () => {
  test("A6: of a sensor one check, and what it answered", async () => {
    const made = inDag(() => {
      sensor("no", { every: "5m" }, () => null);
      sensor("yes", () => 3);
    });
    expect(await runTask(made, "no")).toMatchObject({
      state: "deferred",
      output: undefined,
      message:
        "not yet: its check answered false, null or undefined; it would be asked again every 300000 ms",
    });
    expect(await runTask(made, "yes")).toMatchObject({ state: "success", output: 3, message: null });
  });

  test("A6: of a body that defers what it waits for, and how it goes on", async () => {
    const made = inDag(() => {
      task("a", ({ resumed }) => {
        if (resumed === undefined) defer({ until: new Date(0) }, { state: 1 });
        return resumed;
      });
      task("b", () => defer({ event: true }));
    });
    expect(await runTask(made, "a")).toMatchObject({
      state: "deferred",
      message: "waits until 1970-01-01T00:00:00Z, and goes on then",
    });
    expect((await runTask(made, "b")).message).toBe("waits until somebody ends it, and goes on then");
    const on = await runTask(made, "a", { resumed: { state: { n: 1 } } });
    expect(on.output).toEqual({ payload: null, state: { n: 1 } });
  });

  test("A6: a wait without a body cannot be tried", async () => {
    const made = inDag(() => void waitFor("approval"));
    await expect(runTask(made, "approval")).rejects.toMatchObject({
      code: "no_body",
      message: expect.stringContaining("it waits until somebody ends it"),
    });
  });
});
