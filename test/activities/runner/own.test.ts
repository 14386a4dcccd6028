import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundle, codeFolder, given, jobOf, ran, sleep } from "./support.ts";

describe("runner: isolation own", () => {
  it("runs in a process of its own, with the same inputs, logs and outcomes", async () => {
    const runner = given();
    const code = bundle(
      {
        talk: `async ({ inputs }) => {
          console.log("one"); console.error("two"); process.stdout.write("three\\n");
          execFileSync("sh", ["-c", "echo four; echo five >&2"], { stdio: "inherit" });
          return { pid: process.pid, sum: inputs.a + 1 };
        }`,
        skipped: '() => skip("why")',
        bad: '() => { throw new TypeError("x"); }',
      },
      'import { execFileSync } from "node:child_process";',
    );
    const talk = await ran(runner, code, "talk", { isolation: "own", inputs: { a: 1 } });
    expect(talk.outcome).toMatchObject({ kind: "success", output: { sum: 2 } });
    expect(talk.outcome.kind === "success" && (talk.outcome.output as { pid: number }).pid).not.toBe(
      process.pid,
    );
    expect(talk.lines.slice(0, 3).map(({ level, text }) => `${level} ${text}`)).toEqual([
      "info one",
      "error two",
      "info three",
    ]);
    expect(talk.texts.slice(3).sort()).toEqual(["five", "four"]);
    expect((await ran(runner, code, "skipped", { isolation: "own" })).outcome).toEqual({
      kind: "skipped",
      message: "why",
    });
    expect((await ran(runner, code, "bad", { isolation: "own" })).outcome).toMatchObject({
      kind: "failed",
      error: { code: "TypeError" },
    });
  });

  it("a blocked one is ended by its time-out, what it spawned with it; a real exit is a failure", async () => {
    const runner = given({ killGraceMs: 300 });
    const file = join(codeFolder(), "pids");
    const code = bundle(
      {
        spin: `() => {
          const child = spawn("sleep", ["300"]);
          writeFileSync(${JSON.stringify(file)}, process.pid + " " + child.pid);
          process.on("SIGTERM", () => undefined);
          while (true);
        }`,
        exit: "() => process.reallyExit(5)",
      },
      'import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs";',
    );
    const [spin, exit] = await Promise.all([
      ran(runner, code, "spin", { isolation: "own", timeoutMs: 500 }),
      ran(runner, code, "exit", { isolation: "own" }),
    ]);
    expect(spin.outcome.kind).toBe("timed_out");
    await sleep(300);
    for (const pid of readFileSync(file, "utf8").split(" ")) expect(isRunning(Number(pid))).toBe(false);
    expect(exit.outcome).toMatchObject({
      kind: "failed",
      error: { code: "process_exit", message: "its process ended with exit code 5", retryable: true },
    });
  });

  it("its memory is bounded, heap and buffers", async () => {
    const runner = given({ ownMemoryMb: 96 });
    const code = bundle({
      heap: "() => { const all = []; for (;;) all.push(Array.from({ length: 10_000 }, () => ({ x: {} }))); }",
      buffers:
        "async () => { const all = []; for (;;) { all.push(Buffer.alloc(16 * 2 ** 20, 1)); await sleep(5); } }",
    });
    const results = await Promise.all(
      ["heap", "buffers"].map((task) => ran(runner, code, task, { isolation: "own" })),
    );
    for (const { outcome } of results) {
      expect(outcome).toMatchObject({
        kind: "failed",
        error: { code: "out_of_memory", message: "its process used more than its 96 MB of memory" },
      });
    }
  });

  it("more of them than allowed wait their turn, and can be cancelled while they wait", async () => {
    const runner = given({ processes: 1 });
    const code = bundle({ one: "async () => { await sleep(500); return 1; }" });
    const stop = new AbortController();
    const first = ran(runner, code, "one", { isolation: "own" });
    const second = ran(runner, code, "one", { isolation: "own", signal: stop.signal });
    await sleep(100);
    stop.abort(new Error("not wanted"));
    expect((await second).outcome).toEqual({ kind: "cancelled", message: "not wanted" });
    expect((await first).outcome).toEqual({ kind: "success", output: 1 });
  });
});

describe("runner: a worker that is killed", () => {
  it("leaves no body behind, blocked or not, shared or own", async () => {
    const folder = codeFolder();
    const code = bundle(
      {
        spin: `() => { appendFileSync(${JSON.stringify(join(folder, "pids"))}, process.pid + "\\n"); while (true); }`,
      },
      'import { appendFileSync } from "node:fs";',
    );
    const main = `
      import { createRunner } from ${JSON.stringify(new URL("../../../activities/runner/runner.ts", import.meta.url).href)};
      const runner = createRunner({ threads: 1, codeFolder: import.meta.dirname, connections: {}, log: console.error });
      const job = { ...${JSON.stringify(jobOf(code, "spin"))}, loadBundle: async () => ({ code: ${JSON.stringify(code)}, sourceMap: null }) };
      for (const isolation of ["shared", "own"])
        void runner.run({ ...job, isolation }, new AbortController().signal, () => undefined);
    `;
    writeFileSync(join(folder, "main.mts"), main);
    const worker = spawn(process.execPath, ["--import", "tsx", join(folder, "main.mts")], {
      stdio: "inherit",
    });
    const pids = (): number[] =>
      existsSync(join(folder, "pids"))
        ? readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number)
        : [];
    while (pids().length < 2) await sleep(100);
    expect(pids().map(isRunning)).toEqual([true, true]);
    worker.kill("SIGKILL");
    for (let i = 0; i < 50 && pids().some(isRunning); i++) await sleep(100);
    expect(pids().map(isRunning)).toEqual([false, false]);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that nobody has waited for is not running.
    return (
      !existsSync(`/proc/${pid}/stat`) || !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
    );
  } catch {
    return false;
  }
}
