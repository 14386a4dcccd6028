import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NotFound } from "../../../core/errors.ts";
import { bundle, bundleFile, codeFolder, common, given, jobOf, ran } from "./support.ts";

describe("runner: what a body gets and gives", () => {
  it("imports a bundle, `meridian` included, in a thread that registers tsx itself", async () => {
    const code = bundle({ add: "({ inputs, ds }) => ({ sum: inputs.a + inputs.b, ds })" });
    const { outcome } = await ran(common(), code, "add", { inputs: { a: 1, b: 2 } });
    expect(outcome).toEqual({ kind: "success", output: { sum: 3, ds: "2026-05-09" } });
  });

  it("tells success, skip, failure and failure at once apart", async () => {
    const runner = common();
    const code = bundle({
      nothing: "() => {}",
      none: '() => skip("no rows")',
      bad: 'async () => { await sleep(1); throw new TypeError("broken"); }',
      never: '() => fail("hopeless")',
      odd: "() => ({ at: new Date() })",
      text: '() => { throw "just text"; }',
    });
    expect((await ran(runner, code, "nothing")).outcome).toEqual({ kind: "success", output: null });
    expect((await ran(runner, code, "none")).outcome).toEqual({ kind: "skipped", message: "no rows" });
    expect((await ran(runner, code, "bad")).outcome).toMatchObject({
      kind: "failed",
      error: { code: "TypeError", message: "broken", retryable: true },
    });
    expect((await ran(runner, code, "never")).outcome).toMatchObject({
      kind: "failed",
      error: { message: "hopeless", retryable: false },
    });
    expect((await ran(runner, code, "odd")).outcome).toMatchObject({
      kind: "failed",
      error: { code: "output_not_json", retryable: false },
    });
    expect((await ran(runner, code, "text")).outcome).toMatchObject({
      kind: "failed",
      error: { message: "just text" },
    });
    expect(runner.running).toBe(0);
  });

  it("stray words on the channel harm nobody, in a thread and in a process of its own", async () => {
    const runner = common();
    const words =
      '[null, 1, "x", {}, { t: "lines", n: 1 }, { t: "end", n: 1, outcome: "{" }, { t: "started", n: {} }]';
    const code = bundle({
      thread: `async () => { const { parentPort } = await import("node:worker_threads"); for (const word of ${words}) parentPort.postMessage(word); await sleep(50); return 1; }`,
      own: `async () => { for (const word of ${words}) process.send(word); await sleep(50); return 2; }`,
      beside: "async () => { await sleep(100); return 3; }",
    });
    const outcomes = await Promise.all([
      ran(runner, code, "beside"),
      ran(runner, code, "thread"),
      ran(runner, code, "own", { isolation: "own" }),
    ]);
    expect(outcomes.at(0)!.outcome).toEqual({ kind: "success", output: 3 });
    expect(outcomes.at(2)!.outcome).toEqual({ kind: "success", output: 2 });
    expect((await ran(runner, code, "beside")).outcome).toEqual({ kind: "success", output: 3 });
  });

  it("what is thrown outside of the body and cannot be shown ends that body alone", async () => {
    const runner = common();
    const code = bundle({
      odd: "async () => { setTimeout(() => { throw { toString() { throw 2; } }; }); await sleep(5_000); }",
      beside: "async () => { await sleep(300); return 3; }",
    });
    const [beside, odd] = await Promise.all([ran(runner, code, "beside"), ran(runner, code, "odd")]);
    expect(odd.outcome).toMatchObject({ kind: "failed", error: { code: "uncaught_exception" } });
    expect(beside.outcome).toEqual({ kind: "success", output: 3 });
  });

  it("a task or dag that the code does not have fails at once", async () => {
    const runner = common();
    const code = bundle({ here: "() => 1" });
    expect((await ran(runner, code, "gone")).outcome).toMatchObject({
      kind: "failed",
      error: {
        code: "body_not_found",
        message: 'the stored code has no task "gone" in dag "tests"',
        retryable: false,
      },
    });
    expect((await ran(runner, code, "here", { context: { dagId: "other" } })).outcome).toMatchObject({
      kind: "failed",
      error: { message: 'the stored code has no dag "other"' },
    });
  });

  it("loads a bundle once for all tries, and not at all when its file is there", async () => {
    const folder = codeFolder();
    const code = bundle({ one: "() => 1" });
    let loads = 0;
    const run = async (runner = given({ codeFolder: folder })): Promise<unknown> => {
      const job = jobOf(code, "one");
      const load = async (hash: string) => ((loads += 1), await job.loadBundle(hash));
      return await runner.run({ ...job, loadBundle: load }, new AbortController().signal, () => undefined);
    };
    const runner = given({ codeFolder: folder });
    await Promise.all([run(runner), run(runner), run(runner)]);
    expect(loads).toBe(1);
    expect(await run()).toEqual({ kind: "success", output: 1 });
    expect(loads).toBe(1);
    // A runner that has used it notices when the folder was emptied.
    for (const file of readdirSync(folder)) rmSync(join(folder, file));
    const other = given({ codeFolder: folder });
    expect(await run(runner)).toEqual({ kind: "success", output: 1 });
    expect(await run(other)).toEqual({ kind: "success", output: 1 });
    expect(loads).toBe(2);
  });

  it("a hash that is none is refused: it would be a path", async () => {
    const job = { ...jobOf(bundle({ one: "() => 1" }), "one"), bundleHash: "../../x" };
    expect(await common().run(job, new AbortController().signal, () => undefined)).toMatchObject({
      kind: "failed",
      error: { code: "bad_bundle_hash", retryable: false },
    });
  });

  it("code that cannot be loaded now is asked for again; code that does not exist is a failure", async () => {
    const runner = common();
    const job = jobOf(bundle({ one: "() => 1" }), "one");
    const run = async (error: Error): Promise<unknown> =>
      await runner.run(
        { ...job, loadBundle: () => Promise.reject(error) },
        new AbortController().signal,
        () => undefined,
      );
    expect(await run(new Error("connect ECONNREFUSED"))).toMatchObject({ kind: "requeued" });
    expect(await run(new NotFound("bundle_not_found", "no such bundle"))).toMatchObject({
      kind: "failed",
      error: { code: "bundle_not_found", retryable: false },
    });
    expect((await ran(runner, bundle({ one: "() => 1" }), "one")).outcome).toMatchObject({ kind: "success" });
  });

  it("a bundle whose import fails can be imported again in the same thread", async () => {
    const folder = codeFolder();
    const flag = join(folder, "flag");
    const runner = given({ codeFolder: folder });
    const head = `import { existsSync } from "node:fs"; if (!existsSync(${JSON.stringify(flag)})) throw new Error("not yet");`;
    const code = bundle({ one: "() => 1" }, head);
    expect((await ran(runner, code, "one")).outcome).toMatchObject({
      kind: "failed",
      error: { message: "not yet" },
    });
    writeFileSync(flag, "");
    expect((await ran(runner, code, "one")).outcome).toEqual({ kind: "success", output: 1 });
  });

  it("inputs that are no plain data fail the try, not the runner", async () => {
    const runner = common();
    const code = bundle({ one: "() => 1" });
    expect((await ran(runner, code, "one", { inputs: { big: 1n } })).outcome).toMatchObject({
      kind: "failed",
      error: { code: "bad_input" },
    });
    expect((await ran(runner, code, "one")).outcome).toMatchObject({ kind: "success" });
  });
});

describe("runner: stacks", () => {
  it("point to the TypeScript lines, without the runner's own", async () => {
    const folder = codeFolder();
    const source = join(folder, "sales.ts");
    const lines = [
      'import { dag, task } from "meridian";',
      "interface Row { readonly price: number }",
      "type Unused = { readonly a: string };",
      "function check(row: Row): void {",
      '  if (row.price < 0) throw new Error("negative");',
      "}",
      'dag("tests", { schedule: null }, () => {',
      '  task("load", async () => { await Promise.resolve(); check({ price: -1 } satisfies Row); });',
      "});",
    ];
    writeFileSync(source, lines.join("\n"));
    const { code, sourceMap } = await bundleFile(folder, "sales.ts");
    const { outcome } = await ran(common(), code, "load", { sourceMap });
    const stack = outcome.kind === "failed" ? outcome.error.stack! : "";
    expect(stack.split("\n")[1]).toMatch(/at check \(sales\.ts:5:\d+\)/);
    expect(stack.split("\n")[2]).toMatch(/sales\.ts:8:\d+/);
    expect(stack).not.toContain("activities/runner");
    expect(stack).not.toContain("node:internal");
  });
});

describe("runner: logs", () => {
  it("gives each of two interleaved bodies its own lines, in order, from console, stdout, timers and ctx.log", async () => {
    const runner = common();
    const code = bundle({
      talk: `async ({ mapIndex, inputs, log }) => {
        for (let i = 0; i < 5; i++) { console.log(inputs.who, i); await sleep(2); }
        await new Promise((done) => setTimeout(() => { console.warn(inputs.who, "timer"); done(); }, 3));
        log.error(inputs.who, { a: 1 });
        process.stdout.write(inputs.who + " par");
        await sleep(2);
        process.stdout.write("tial\\nend");
      }`,
    });
    const [a, b] = await Promise.all(["a", "b"].map((who) => ran(runner, code, "talk", { inputs: { who } })));
    for (const [who, result] of [
      ["a", a!],
      ["b", b!],
    ] as const) {
      expect(result.lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
        ...[0, 1, 2, 3, 4].map((i) => `info ${who} ${i}`),
        `warn ${who} timer`,
        `error ${who} {"a":1}`,
        `info ${who} partial`,
        "info end",
      ]);
      expect(result.lines.every((line, i) => i === 0 || line.at >= result.lines[i - 1]!.at)).toBe(true);
    }
  });

  it("knows every console method: levels, tables, groups of one's own, several lines as one", async () => {
    const runner = common();
    const code = bundle({
      all: `async () => {
        console.debug("d"); console.info("i"); console.error("e\\nf"); console.warn("w %s", "x");
        console.group("open"); console.log("inside"); await sleep(30); console.log("still"); console.groupEnd();
        console.table([{ a: 1 }]); console.assert(1 === 2, "odd"); console.dir({ deep: { b: 2 } }); console.count(); console.log();
      }`,
      other: 'async () => { await sleep(10); console.log("not inside"); }',
    });
    const [all, other] = await Promise.all([ran(runner, code, "all"), ran(runner, code, "other")]);
    expect(other.texts).toEqual(["not inside"]);
    expect(all.lines.slice(0, 7).map(({ level, text }) => `${level} ${text}`)).toEqual([
      "debug d",
      "info i",
      "error e\nf",
      "warn w x",
      "info open",
      "info   inside",
      "info   still",
    ]);
    expect(all.texts[7]).toContain("│");
    expect(all.lines[8]).toMatchObject({ level: "error", text: "Assertion failed: odd" });
    expect(all.texts.slice(9)).toEqual(["{ deep: { b: 2 } }", "default: 1", ""]);
  });

  it("K67: bytes of one character split over two writes", async () => {
    const code = bundle({
      bytes: `async () => {
        process.stdout.write(Buffer.from([0xf0, 0x9f])); await sleep(5);
        process.stdout.write(Buffer.from([0x92, 0xbc, 0x0a, 0xc6, 0x0a]));
      }`,
    });
    expect((await ran(common(), code, "bytes")).texts).toEqual(["💼", "\ufffd"]);
  });

  it("100,000 lines arrive complete and in order, while a second body is heard at once", async () => {
    const runner = given({ threads: 2 });
    const code = bundle({
      flood: '() => { for (let i = 0; i < 100_000; i++) console.log("line " + i); }',
      quick: '() => console.log("quick")',
    });
    const [flood, quick] = await Promise.all([ran(runner, code, "flood"), ran(runner, code, "quick")]);
    expect(quick.texts).toEqual(["quick"]);
    expect(flood.lines.length).toBe(100_000);
    expect(flood.texts.every((text, i) => text === `line ${i}`)).toBe(true);
  });

  it("a body that logs and then blocks is heard before it ends", async () => {
    const code = bundle({ block: '() => { console.log("before"); spin(1_000); }' });
    const begun = performance.now();
    let heardMs = Number.NaN;
    await ran(common(), code, "block", { onLine: () => (heardMs = performance.now() - begun) });
    expect(performance.now() - begun - heardMs).toBeGreaterThan(500);
  });

  it("a log that throws does not harm the try", async () => {
    const code = bundle({ talk: '() => { console.log("x"); return 1; }' });
    const onLine = (): never => {
      throw new Error("disk full");
    };
    expect((await ran(common(), code, "talk", { onLine })).outcome).toEqual({ kind: "success", output: 1 });
  });
});

describe("runner: connections", () => {
  const secret = "postgres://app:s3cr3t-word@db/warehouse";

  it("are given by name, whatever the case, and masked in logs and errors", async () => {
    const code = bundle({
      use: `({ connection }) => {
        const url = connection("Ware-House");
        console.log("url", url, "password", new URL(url).password);
        return url.length;
      }`,
      leak: '({ connection }) => { throw new Error("cannot reach " + connection("ware_house")); }',
    });
    const runner = given({ connections: { ware_house: secret } });
    const used = await ran(runner, code, "use");
    expect(used.outcome).toEqual({ kind: "success", output: secret.length });
    expect(used.texts).toEqual(["url *** password ***"]);
    const leaked = await ran(runner, code, "leak");
    expect(leaked.outcome).toMatchObject({ kind: "failed", error: { message: "cannot reach ***" } });
    expect(JSON.stringify(leaked.outcome)).not.toContain("s3cr3t");
  });

  it("a missing one fails at once and names the variable", async () => {
    const code = bundle({ use: '({ connection }) => connection("crm")' });
    const { outcome } = await ran(common(), code, "use");
    expect(outcome).toMatchObject({
      kind: "failed",
      error: { code: "connection_missing", retryable: false },
    });
    expect(outcome.kind === "failed" && outcome.error.message).toContain("MERIDIAN_CONN_CRM");
  });

  it("are in no start-up data and no environment of a thread or process", async () => {
    process.env["MERIDIAN_CONN_WAREHOUSE"] = secret;
    try {
      const code = bundle(
        {
          look: "() => JSON.stringify([workerData === null ? null : Object.keys(workerData), process.env, process.argv])",
        },
        'import { workerData } from "node:worker_threads";',
      );
      const runner = given({ connections: { warehouse: secret } });
      for (const isolation of ["shared", "own"] as const) {
        const { outcome } = await ran(runner, code, "look", { isolation });
        expect(outcome.kind).toBe("success");
        expect(JSON.stringify(outcome)).not.toContain("s3cr3t");
      }
    } finally {
      delete process.env["MERIDIAN_CONN_WAREHOUSE"];
    }
  });
});

describe("runner: outside the test runner", () => {
  it("a thread does not inherit tsx on Node 20; the runner's threads have it", () => {
    const folder = codeFolder();
    const runnerUrl = new URL("../../../activities/runner/runner.ts", import.meta.url).href;
    const code = bundle({ one: "() => 1" });
    writeFileSync(join(folder, "typed.ts"), "const one: number = 1; export default one; enum E { A }; E.A;");
    const main = `
      import { Worker } from "node:worker_threads";
      import { createRunner } from ${JSON.stringify(runnerUrl)};
      const bare = new Worker(new URL("./typed.ts", import.meta.url), { execArgv: [] });
      const error = await new Promise((resolve) => (bare.on("error", resolve), bare.on("exit", () => resolve(null))));
      const runner = createRunner({ threads: 1, codeFolder: import.meta.dirname, connections: {}, log: console.error });
      const job = { ...${JSON.stringify(jobOf(code, "one"))}, loadBundle: async () => ({ code: ${JSON.stringify(code)}, sourceMap: null }) };
      const outcome = await runner.run(job, new AbortController().signal, () => undefined);
      const drained = createRunner({ threads: 1, codeFolder: import.meta.dirname, connections: {}, log: console.error });
      await drained.run(job, new AbortController().signal, () => undefined);
      await drained.drain(0);
      console.log(JSON.stringify({ inherits: error === null, outcome }));
      // The first is not drained: idle threads keep no process alive.
    `;
    writeFileSync(join(folder, "main.mts"), main);
    const done = spawnSync(process.execPath, ["--import", "tsx", join(folder, "main.mts")], {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(done.stderr).toBe("");
    expect(JSON.parse(done.stdout)).toEqual({ inherits: false, outcome: { kind: "success", output: 1 } });
    expect(done.status).toBe(0);
  });
});
