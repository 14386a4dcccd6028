import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dags-test-"));
  mkdirSync(join(folder, "project/dags"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "project/node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function test(
  text: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Answer> {
  const file = join(folder, "project/dags/one.ts");
  writeFileSync(file, `import { dag, task } from "meridian";\nvoid [dag, task];\n${text}\n`);
  const command = [join(ROOT, "cli/meridian.mjs"), "dags", "test", file, ...args];
  return await new Promise((resolve) =>
    execFile(
      process.execPath,
      command,
      { cwd: folder, env: { PATH: process.env["PATH"], HOME: folder, ...env } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    ),
  );
}

describe("C1: meridian dags test", () => {
  it("runs from any folder, with the data folder anywhere, and hides what is secret", async () => {
    const text = `dag("one", { schedule: null }, () => { task("a", ({ connection, log }) => log.info("at " + connection("shop"))); });`;
    const env = { MERIDIAN_CONN_SHOP: "postgres://me:sesame-opens@db/shop" };
    for (const home of [{}, { MERIDIAN_HOME: join(folder, "elsewhere") }]) {
      const { code, out, err } = await test(text, [], { ...env, ...home });
      expect(err).toBe("");
      expect(code).toBe(0);
      expect(out).toContain("***");
      expect(out).not.toContain("sesame");
    }
  });

  it("--interval DAY is the first interval of the schedule that starts on that day", async () => {
    const text = `dag("one", { schedule: "30 2 * * *", zone: "Europe/Berlin", startDate: "2026-10-01" }, () => {
      task("a", ({ dataInterval, log }) => { log.info("from " + dataInterval.start.toISOString() + " to " + dataInterval.end.toISOString()); });
    });`;
    expect((await test(text, ["--interval", "2026-10-24"])).out).toContain(
      "from 2026-10-24T00:30:00.000Z to 2026-10-25T00:30:00.000Z",
    );
    expect((await test(text, ["--interval", "2026-10-24T05:00:00Z"])).out).toContain(
      "from 2026-10-24T05:00:00.000Z to 2026-10-24T05:00:00.000Z",
    );
  });

  it("A1: takes a DAG by its id, also one that a factory of another module makes", async () => {
    const dags = join(folder, "project/dags");
    mkdirSync(join(dags, "lib"), { recursive: true });
    writeFileSync(
      join(dags, "lib/make.ts"),
      'import { dag, task } from "meridian";\nexport const make = (id: string) => dag(`${id}_made`, {}, () => void task("t", () => 7));\n',
    );
    writeFileSync(join(dags, "factory.ts"), 'import { make } from "./lib/make.ts";\nmake("lemon");\n');
    const command = [join(ROOT, "cli/meridian.mjs"), "dags", "test", "lemon_made"];
    const env = { PATH: process.env["PATH"], HOME: folder };
    const { stdout } = await promisify(execFile)(process.execPath, command, {
      cwd: join(folder, "project"),
      env,
    });
    expect(stdout).toMatch(/success/);
    expect(stdout).toContain("7");
  });

  it("says why a task failed, and where in the author's file alone; an error at import is one of the author's too", async () => {
    const failed = await test(
      `dag("one", { schedule: null }, () => { task("a", () => { throw new Error("no luck"); }); });`,
    );
    expect(failed.code).toBe(1);
    expect(failed.out).toMatch(/a failed: Error: no luck\n\s+at .*one\.ts:3/);
    expect(failed.out).not.toContain("commander");
    const broken = await test(`throw new Error("not today");`);
    expect(broken.code).toBe(1);
    expect(broken.err).toMatch(/^error: .*one\.ts could not be imported: Error: not today/);
    expect(broken.err).not.toContain("node_modules");
  });

  it("a body that ends the process, or throws where nobody waits, fails its own task and never turns the test green", async () => {
    const text = `const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
    dag("one", { schedule: null }, () => {
      task("exit", () => { process.exit(0); });
      task("exit_later", async () => { setTimeout(() => process.exit(0), 10); await sleep(200); });
      task("stray", async () => { setTimeout(() => { throw new Error("nobody waits"); }, 10); await sleep(200); });
      task("rejected", async () => { void Promise.reject(new Error("dropped")); await sleep(50); return 1; });
      task("good", async () => { await sleep(300); return 2; });
    });`;
    const { code, out } = await test(text, ["--output", "json"]);
    expect(code).toBe(1);
    const { tasks } = JSON.parse(out) as {
      tasks: Record<string, { state: string; error: { code: string } | null; log: { text: string }[] }>;
    };
    const ends = Object.entries(tasks).map(([id, { state, error }]) => [id, state, error?.code ?? null]);
    expect(ends).toEqual([
      ["exit", "failed", "process_exit"],
      ["exit_later", "failed", "process_exit"],
      ["stray", "failed", "uncaught_exception"],
      ["rejected", "success", null],
      ["good", "success", null],
    ]);
    expect(tasks["rejected"]!.log[0]!.text).toContain("dropped");
  });

  it("a file that ends the process is no green test either, nor a body that can never end", async () => {
    const made = 'dag("one", { schedule: null }, () => { task("a", () => new Promise(() => {})); });';
    const ended = await test(`process.exit(0);\n${made}`);
    expect([ended.code, ended.err]).toEqual([
      1,
      expect.stringContaining("called process.exit(0) while it was imported"),
    ]);
    const endless = await test(made);
    expect([endless.code, endless.err]).toEqual([
      1,
      expect.stringContaining("a promise that nobody resolves"),
    ]);
  });

  it("what a body leaves open does not hold the command for ever", async () => {
    const { code, out, err } = await test(
      'dag("one", { schedule: null }, () => { task("a", () => { setInterval(() => {}, 1000); return 1; }); });',
    );
    expect(out).toContain("success");
    expect(err).toContain("something is still open");
    expect(code).toBe(0);
  });

  it("--conf is refused as a trigger would refuse it; JSON hides what is secret too", async () => {
    const text = `import { z } from "zod";
    dag("one", { schedule: null, params: z.object({ n: z.coerce.number().default(1) }) }, ({ task }) => {
      task("a", ({ connection, log }) => { log.info(connection("shop")); return connection("shop"); });
    });`;
    const refused = await test(text, ["--conf", '{"n":"5"}']);
    expect([refused.code, refused.err]).toEqual([
      4,
      expect.stringContaining("n: Invalid input: expected number"),
    ]);
    const both = await test(text, ["--conf", '{"n":"5","m":1}']);
    expect(both.err).toMatch(/^error: conf does not fit .*: m: does not exist.*; n: Invalid input/);
    expect(both.err).not.toContain("    at ");
    const { out } = await test(text, ["--output", "json"], { MERIDIAN_CONN_SHOP: 'sesame-"opens"' });
    expect(JSON.parse(out)).toMatchObject({ tasks: { a: { output: "***" } } });
    expect(out).not.toContain("sesame");
  });

  it("A6: --event ends a wait, from a text or a file; it is checked by the payload's schema", async () => {
    const text = `import { z } from "zod";
    import { sensor, waitFor } from "meridian";
    dag("one", { schedule: null }, () => {
      const approval = waitFor("approval", { payload: z.object({ by: z.string() }) });
      const asked = [];
      const file = sensor("file", { every: "1s" }, () => asked.push(1) > 1 && "there");
      task("a", { inputs: { approval, file } }, ({ inputs }) => inputs.approval.by + ": " + inputs.file);
    });`;
    const { code, out, err } = await test(text, ["--event", 'approval={"by":"me"}']);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toContain('a        = "me: there"');
    expect(out).toContain("file     → deferred");
    const json = join(folder, "event.json");
    writeFileSync(json, '{"by":"a file"}');
    expect((await test(text, ["--event", `approval=@${json}`])).out).toContain('"a file: there"');

    const refused = await test(text, ["--event", 'approval={"by":1}']);
    expect([refused.code, refused.err]).toEqual([
      4,
      expect.stringContaining(
        'event "approval" does not fit the payload of task "approval" of dag "one": by: Invalid input: expected string',
      ),
    ]);
    expect((await test(text, ["--event", "approval"])).err).toContain(
      "--event approval: expected name=JSON or name=@file.json",
    );
    const without = await test(text);
    expect(without.code).toBe(1);
    expect(without.out).toContain("nobody ends this wait in a local run: say what it is ended with");
  });

  it("each failed try says why as it fails; names of any length keep their column", async () => {
    const long = "a_name_longer_than_sixteen_characters";
    const { out, code } = await test(`dag("one", { schedule: null }, () => {
      task("${long}", { retries: 1, retryDelay: "10ms" }, (context) => {
        if (context.try === 1) throw new Error("the source is away");
        return 1;
      });
      task("b", { retries: 0 }, () => { throw new TypeError("no such row"); });
    });`);
    expect(code).toBe(1);
    expect(out).toMatch(
      new RegExp(`^${long} try 1 failed: Error: the source is away  at .*one\\.ts:5:`, "m"),
    );
    expect(out.indexOf("the source is away")).toBeLessThan(out.indexOf(`${long} → up_for_retry`));
    expect(out).toContain(`${long} → success`);
    expect(out).toMatch(new RegExp(`^b {${long.length - 1}} try 1 failed: TypeError: no such row`, "m"));
    expect(out).toContain(`b${" ".repeat(long.length - 1)} → failed`);
  });
});
