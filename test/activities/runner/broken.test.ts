import { describe, expect, it } from "vitest";
import { bundle, given, ran } from "./support.ts";

describe("runner: a body that breaks its thread", () => {
  it("process.exit fails that body alone", async () => {
    const runner = given();
    const code = bundle({
      exit: "async () => { await sleep(50); process.exit(3); }",
      other: "async () => { await sleep(600); return 1; }",
    });
    const other = ran(runner, code, "other");
    expect((await ran(runner, code, "exit")).outcome).toMatchObject({
      kind: "failed",
      error: { code: "process_exit", message: "the body called process.exit(3): return or throw instead" },
    });
    expect((await other).outcome).toEqual({ kind: "success", output: 1 });
    expect((await ran(runner, code, "other")).outcome).toEqual({ kind: "success", output: 1 });
  });

  it("a body that replaces JSON for its whole thread leaves no try unanswered", async () => {
    const runner = given({ threads: 1 });
    const code = bundle({
      replace:
        "async () => { const { stringify } = JSON; JSON.stringify = () => 'no JSON'; await sleep(300); JSON.stringify = stringify; return { a: 1 }; }",
      beside: "async () => { await sleep(100); return [2]; }",
      failing: "async () => { await sleep(100); throw new Error('as it should'); }",
    });
    const tries = ["replace", "beside", "failing"].map((task) => ran(runner, code, task));
    expect((await Promise.all(tries)).map(({ outcome }) => outcome)).toMatchObject([
      { kind: "success", output: { a: 1 } },
      { kind: "success", output: [2] },
      { kind: "failed", error: { message: "as it should" } },
    ]);
  });

  it("a thread that really dies: of several bodies none is blamed, alone the guilty one is", async () => {
    const runner = given();
    const code = bundle({
      die: "async () => { await sleep(100); process.reallyExit(9); }",
      other: "async () => { await sleep(700); return 1; }",
    });
    const [die, other] = await Promise.all([ran(runner, code, "die"), ran(runner, code, "other")]);
    expect([die.outcome.kind, other.outcome.kind]).toEqual(["requeued", "requeued"]);
    const again = await Promise.all([ran(runner, code, "die"), ran(runner, code, "other")]);
    expect(again.map(({ outcome }) => outcome)).toEqual([
      {
        kind: "failed",
        error: { code: "process_exit", message: "the thread ended with exit code 9", retryable: true },
      },
      { kind: "success", output: 1 },
    ]);
  });

  it.each([
    ["many objects", "const all = []; for (;;) all.push(Array.from({ length: 10_000 }, () => ({ x: {} })));"],
    // Node ends the whole process for this one, limits of the thread or not.
    ["one growing array", "const all = []; for (;;) all.push({});"],
  ])("out of memory by %s: the body fails and the worker lives", async (_title, body) => {
    const runner = given({ threadMemoryMb: 96, ownMemoryMb: 96 });
    const code = bundle({ eat: `() => { ${body} }`, quick: "() => 1" });
    const { outcome } = await ran(runner, code, "eat");
    expect(outcome.kind).toBe("failed");
    expect(outcome.kind === "failed" && outcome.error.code).toMatch(/^(out_of_memory|process_died)$/);
    expect((await ran(runner, code, "quick")).outcome).toEqual({ kind: "success", output: 1 });
    // From now on it has a process of its own.
    expect((await ran(runner, code, "eat")).outcome).toMatchObject({
      kind: "failed",
      error: { code: "out_of_memory", message: "its process used more than its 96 MB of memory" },
    });
  });

  it("a body that kills the whole process of the threads is found out, and the innocent finish", async () => {
    const runner = given({ threads: 2 });
    const code = bundle({
      kill: "async () => { await sleep(300); process.kill(process.pid, 'SIGKILL'); await sleep(60_000); }",
      other: "async () => { await sleep(1_000); return 1; }",
      quick: "() => 2",
    });
    const tasks = ["kill", "other", "other"];
    const first = await Promise.all(tasks.map((task) => ran(runner, code, task)));
    const requeued = { kind: "requeued", message: "the process of the body threads has died (SIGKILL)" };
    expect(first.map(({ outcome }) => outcome)).toEqual([requeued, requeued, requeued]);
    expect(runner.notes.map(({ text }) => text)).toContain(`${requeued.message} with 3 bodies in it`);
    const second = await Promise.all([...tasks, "quick"].map((task) => ran(runner, code, task)));
    expect(second.map(({ outcome }) => outcome)).toEqual([
      {
        kind: "failed",
        error: { code: "killed", message: "its process was ended by SIGKILL", retryable: true },
      },
      { kind: "success", output: 1 },
      { kind: "success", output: 1 },
      { kind: "success", output: 2 },
    ]);
  });

  it("an exception in a stray timer fails its body; others go on, and the thread is replaced when idle", async () => {
    const runner = given();
    const code = bundle(
      {
        stray:
          'async () => { setTimeout(() => { throw new RangeError("stray"); }, 50); await sleep(10_000); }',
        other: "async () => { await sleep(500); return 1; }",
        where: "() => threadId",
      },
      'import { threadId } from "node:worker_threads";',
    );
    const before = (await ran(runner, code, "where")).outcome;
    const other = ran(runner, code, "other");
    const stray = await ran(runner, code, "stray");
    expect(stray.outcome).toMatchObject({
      kind: "failed",
      error: { code: "uncaught_exception", message: "uncaught outside the body's promise: stray" },
    });
    expect((await other).outcome).toEqual({ kind: "success", output: 1 });
    expect((await ran(runner, code, "where")).outcome).not.toEqual(before);
  });

  it("an unhandled rejection is written to its own try's log, and all go on", async () => {
    const runner = given();
    const code = bundle({
      stray: 'async () => { void Promise.reject(new Error("nobody waits")); await sleep(100); return 1; }',
      other: "async () => { await sleep(200); return 2; }",
    });
    const [stray, other] = await Promise.all([ran(runner, code, "stray"), ran(runner, code, "other")]);
    expect(stray.outcome).toEqual({ kind: "success", output: 1 });
    expect(stray.lines).toHaveLength(1);
    expect(stray.lines[0]).toMatchObject({ level: "error" });
    expect(stray.texts[0]).toContain("nobody waits");
    expect(other).toMatchObject({ outcome: { kind: "success", output: 2 }, lines: [] });
  });

  it("native code that cannot be interrupted is not waited for without end", async () => {
    const runner = given({ killGraceMs: 200 });
    const code = bundle(
      { native: '() => { execSync("sleep 9"); }', quick: "() => 1" },
      'import { execSync } from "node:child_process";',
    );
    const result = await ran(runner, code, "native", { timeoutMs: 300 });
    expect(result.outcome.kind).toBe("timed_out");
    expect(result.ms).toBeLessThan(9_000);
    expect(runner.notes.map(({ text }) => text)).toContain(
      "a body thread is inside native code and cannot be ended",
    );
    expect((await ran(runner, code, "quick")).outcome).toEqual({ kind: "success", output: 1 });
  });
});
