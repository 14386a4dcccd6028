import { describe, expect, it } from "vitest";
import { bundle, given, ran } from "./support.ts";

describe("runner: time-outs and aborts", () => {
  it("regression A5: an execution time-out of 30 days, longer than any timer of Node, does not end at once", async () => {
    const code = bundle({ brief: "async () => { await sleep(60); return 1; }" });
    const { outcome } = await ran(given(), code, "brief", { timeoutMs: 30 * 86_400_000 });
    expect(outcome).toMatchObject({ kind: "success", output: 1 });
  });

  it("K36: the late result of a timed-out body is refused; the next try's counts", async () => {
    const runner = given({ killGraceMs: 2_000 });
    const code = bundle({
      slow: 'async (ctx) => { if (ctx.try === 2) return "new"; await sleep(700); console.log("late"); return "old"; }',
    });
    const first = await ran(runner, code, "slow", { timeoutMs: 300 });
    expect(first.outcome).toEqual({
      kind: "timed_out",
      error: {
        code: "execution_timeout",
        message: "did not end within its execution time-out of 0.3 s",
        retryable: true,
      },
    });
    const second = await ran(runner, code, "slow", { timeoutMs: 5_000, context: { try: 2 } });
    expect(second.outcome).toEqual({ kind: "success", output: "new" });
  });

  it("an abort reaches the body's signal within milliseconds, and its answer is cancelled", async () => {
    const runner = given();
    const stop = new AbortController();
    const code = bundle({
      wait: `({ signal }) => new Promise((_, reject) => {
        signal.addEventListener("abort", () => { console.log("heard", signal.reason.name, Date.now()); reject(signal.reason); });
        console.log("waiting");
      })`,
    });
    let abortedAt = 0;
    const result = await ran(runner, code, "wait", {
      signal: stop.signal,
      onLine: ({ text }) => {
        if (text !== "waiting") return;
        abortedAt = Date.now();
        stop.abort(new Error("cleared by ann"));
      },
    });
    expect(result.outcome).toEqual({ kind: "cancelled", message: "cleared by ann" });
    const heard = result.texts[1]!.split(" ");
    expect(heard.slice(0, 2)).toEqual(["heard", "AbortError"]);
    expect(Number(heard[2]) - abortedAt).toBeLessThan(200);
    expect(await ran(runner, code, "wait", { signal: stop.signal })).toMatchObject({
      outcome: { kind: "cancelled" },
    });
  });

  it("a body deaf to its signal loses its thread after the grace; others there are requeued and then spared", async () => {
    const runner = given({ killGraceMs: 400 });
    const code = bundle({
      deaf: "async () => { await sleep(60_000); }",
      other: 'async ({ try: n }) => { await sleep(n === 1 ? 3_000 : 1_500); return "done"; }',
    });
    const other = ran(runner, code, "other");
    const deaf = await ran(runner, code, "deaf", { timeoutMs: 300 });
    expect(deaf.outcome.kind).toBe("timed_out");
    expect((await other).outcome).toMatchObject({ kind: "requeued" });
    expect(runner.running).toBe(0);
    // The deaf one now has a thread of its own.
    const again = ran(runner, code, "other", { context: { try: 2 } });
    const deafAgain = await ran(runner, code, "deaf", { timeoutMs: 300 });
    expect(deafAgain.outcome.kind).toBe("timed_out");
    expect((await again).outcome).toEqual({ kind: "success", output: "done" });
  });

  it("while (true) alone on its thread ends with its time-out, and the code has stopped by then", async () => {
    const runner = given({ killGraceMs: 60_000 });
    const code = bundle({ spin: "() => { while (true); }", quick: "() => 1" });
    const result = await ran(runner, code, "spin", { timeoutMs: 300 });
    expect(result.outcome.kind).toBe("timed_out");
    expect(result.ms).toBeLessThan(15_000);
    expect((await ran(runner, code, "quick")).outcome).toEqual({ kind: "success", output: 1 });
  });

  it("a time-out counts from the body's own start, not from its wait for a thread", async () => {
    const runner = given({ blockedAfterMs: 60_000 });
    const code = bundle({ block: "() => spin(1_500)", quick: "async () => { await sleep(50); return 1; }" });
    const block = ran(runner, code, "block");
    const quick = await ran(runner, code, "quick", { timeoutMs: 1_000 });
    expect(quick.outcome).toEqual({ kind: "success", output: 1 });
    await block;
  });
});
