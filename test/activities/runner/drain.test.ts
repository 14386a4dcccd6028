import { describe, expect, it } from "vitest";
import { bundle, given, ran } from "./support.ts";

describe("runner: drain", () => {
  it("lets what is nearly done finish, aborts the rest and answers requeued; takes no more", async () => {
    const runner = given({ killGraceMs: 300 });
    const code = bundle({
      short: "async () => { console.log(1); await sleep(800); return 1; }",
      polite: `({ signal }) => {
        console.log(1);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }`,
      deaf: "async () => { console.log(1); await sleep(60_000); }",
    });
    let heard = 0;
    let allHeard = (): void => undefined;
    const started = new Promise<void>((resolve) => (allHeard = resolve));
    const onLine = (): void => {
      heard += 1;
      if (heard === 3) allHeard();
    };
    const runs = ["short", "polite", "deaf"].map((task) => ran(runner, code, task, { onLine }));
    await started;
    const begun = performance.now();
    await runner.drain(3_000);
    expect(performance.now() - begun).toBeLessThan(14_000);
    const outcomes = (await Promise.all(runs)).map(({ outcome }) => outcome);
    const requeued = { kind: "requeued", message: "the worker is shutting down" };
    expect(outcomes).toEqual([{ kind: "success", output: 1 }, requeued, requeued]);
    expect((await ran(runner, code, "short")).outcome).toEqual(requeued);
    expect(runner.running).toBe(0);
    await runner.drain(0);
  });

  it("ends blocked threads, processes and what still waits for a place", async () => {
    const runner = given({ killGraceMs: 300, processes: 1 });
    const code = bundle({ spin: "() => { console.log(1); while (true); }" });
    let first = (): void => undefined;
    const started = new Promise<void>((resolve) => (first = resolve));
    const runs = [
      ran(runner, code, "spin", { onLine: () => first() }),
      ran(runner, code, "spin"),
      ran(runner, code, "spin", { isolation: "own" }),
      ran(runner, code, "spin", { isolation: "own" }),
    ];
    await started;
    await runner.drain(100);
    for (const { outcome } of await Promise.all(runs)) expect(outcome.kind).toBe("requeued");
  });

  it("an idle runner drains at once, a starting one too", async () => {
    const begun = performance.now();
    await given({ threads: 2 }).drain(10_000);
    expect(performance.now() - begun).toBeLessThan(6_000);
  });
});
