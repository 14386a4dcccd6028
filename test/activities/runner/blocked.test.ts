import { describe, expect, it } from "vitest";
import { bundle, given, ran, sleep } from "./support.ts";

describe("runner: a body that blocks its thread", () => {
  it("hurts nobody for ever: the known guilty and the innocent are requeued, and the innocent then finish", async () => {
    const runner = given({ blockedAfterMs: 1_500 });
    const code = bundle({
      guilty: "async ({ try: n }) => { if (n < 3) while (true); return 3; }",
      innocent: "async () => { await sleep(400); return 1; }",
    });
    const innocents = Array.from({ length: 5 }, () => ran(runner, code, "innocent"));
    const guilty = ran(runner, code, "guilty");
    const outcomes = await Promise.all(innocents);
    const first = (await guilty).outcome;
    expect(first).toMatchObject({ kind: "requeued" });
    expect(first.kind === "requeued" && first.message).toContain('held by task "guilty" of dag "tests"');
    for (const { outcome } of outcomes) expect(["requeued", "success"]).toContain(outcome.kind);
    // Again at once: the guilty one has a thread of its own, the others finish beside it.
    const second = ran(runner, code, "guilty", { timeoutMs: 4_000, context: { try: 2 } });
    const again = await Promise.all(Array.from({ length: 5 }, () => ran(runner, code, "innocent")));
    expect(again.map(({ outcome }) => outcome)).toEqual(Array(5).fill({ kind: "success", output: 1 }));
    expect((await second).outcome.kind).toBe("timed_out");
    expect((await ran(runner, code, "guilty", { context: { try: 3 } })).outcome).toEqual({
      kind: "success",
      output: 3,
    });
  });

  it("when the guilty cannot be told, each runs alone next time", async () => {
    const runner = given({ blockedAfterMs: 1_200 });
    const code = bundle({
      // Blocks after an await: nothing tells whose code that is.
      guilty: "async ({ try: n }) => { await sleep(200); spin(n === 1 ? 60_000 : 2_000); return 2; }",
      innocent: "async () => { await sleep(600); return 1; }",
    });
    const both = [ran(runner, code, "guilty"), ran(runner, code, "innocent")];
    expect((await Promise.all(both)).map(({ outcome }) => outcome.kind)).toEqual(["requeued", "requeued"]);
    const again = ["guilty", "innocent"].map((task) => ran(runner, code, task, { context: { try: 2 } }));
    expect((await Promise.all(again)).map(({ outcome }) => outcome)).toEqual([
      { kind: "success", output: 2 },
      { kind: "success", output: 1 },
    ]);
  });

  it("gets no new bodies: they go to another thread, started if all are blocked", async () => {
    const runner = given({ blockedAfterMs: 60_000 });
    const code = bundle({ heavy: '() => { console.log("begun"); while (true); }', quick: "() => 1" });
    const stop = new AbortController();
    let begun = (): void => undefined;
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    const heavy = ran(runner, code, "heavy", { signal: stop.signal, onLine: () => begun() });
    await beginning;
    await sleep(1_500);
    const quick = await ran(runner, code, "quick");
    expect(quick.outcome).toEqual({ kind: "success", output: 1 });
    expect(runner.running).toBe(1);
    stop.abort();
    expect((await heavy).outcome.kind).toBe("cancelled");
  });

  it("may go on when it is alone, and its log says so", async () => {
    const runner = given({ blockedAfterMs: 700 });
    const code = bundle({ heavy: "() => { spin(2_000); return 7; }" });
    const heavy = await ran(runner, code, "heavy");
    expect(heavy.outcome).toEqual({ kind: "success", output: 7 });
    expect(heavy.texts).toEqual([
      "this body has not turned its event loop for 0.7 s; alone on its thread it may go on",
    ]);
  });

  it("an innocent whose time ran out while another held the thread is requeued, not timed out", async () => {
    const runner = given({ blockedAfterMs: 60_000, killGraceMs: 300 });
    const code = bundle({
      block: "async () => { await sleep(100); spin(4_000); }",
      innocent: "async () => { await sleep(200); return 1; }",
    });
    const block = ran(runner, code, "block");
    const innocent = await ran(runner, code, "innocent", { timeoutMs: 1_000 });
    expect(innocent.outcome.kind).toBe("requeued");
    expect((await block).outcome.kind).toBe("requeued");
  });
});
