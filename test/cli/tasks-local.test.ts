import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COMMAND = join(ROOT, "cli/meridian.mjs");
let folder: string;
let project: string;

const SALES = `import { dag, task } from "meridian";
import { z } from "zod";
import { sum } from "./lib/sum.ts";

export const sales = dag("sales", { schedule: "@daily", params: z.object({ region: z.string().default("eu") }) }, ({ task, taskGroup }) => {
  const rows = task("rows", () => [1, 2, 3]);
  taskGroup("load", () => {
    task("total", { inputs: { rows }, templates: { path: "s3://{{ ds }}/{{ params.region }}", list: ["{{ ts_nodash }}", 1] } },
      ({ inputs, templates, log, connection }) => {
        log.info("key " + connection("shop") + " at " + new Date().toISOString());
        const total = sum(inputs.rows);
        return { total, path: templates.path };
      });
  });
  task("late", ({ tryNumber }) => { if (tryNumber < 3) throw new Error("not yet"); return tryNumber; });
});
dag("waiting", ({ sensor, waitFor }) => {
  sensor("file", { every: "5m" }, ({ try: number }) => number > 1 && { file: "there" });
  waitFor("approval");
});
for (const city of ["rome", "oslo"]) dag("rain_" + city, { schedule: null }, () => void task("say", () => city));
`;
const SUM = `export function sum(list: readonly number[]): number {
  if (list.length === 0) throw new Error("nothing to add");
  return list.reduce((a, b) => a + b, 0);
}
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tasks-"));
  project = join(folder, "project");
  mkdirSync(join(project, "dags/lib"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  writeFileSync(join(project, "dags/sales.ts"), SALES);
  writeFileSync(join(project, "dags/lib/sum.ts"), SUM);
  writeFileSync(join(project, "rows.json"), "[10, 20]");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = () => ({
  PATH: process.env["PATH"],
  HOME: folder,
  MERIDIAN_CONN_SHOP: "sesame-opens",
});

async function meridian(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return await new Promise((resolve) =>
    execFile(process.execPath, [COMMAND, ...args], { cwd: project, env: environment() }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    ),
  );
}

describe("F1: meridian tasks test", () => {
  it("one task by the DAG's file or id, with inputs as JSON or from a file, a clock and a connection", async () => {
    const args = [
      "load.total",
      "--interval",
      "2026-05-09",
      "--conf",
      '{"region":"us"}',
      "--now",
      "2001-02-03T04:05",
    ];
    const byFile = await meridian(
      "tasks",
      "test",
      "dags/sales.ts",
      "--dag",
      "sales",
      ...args,
      "--input",
      "rows=[4,5]",
    );
    expect(byFile.err).toBe("");
    expect(byFile.code).toBe(0);
    expect(byFile.out).toContain("key *** at 2001-02-03T04:05:00");
    expect(byFile.out).toContain('"total": 9');
    expect(byFile.out).toContain('"path": "s3://2026-05-09/us"');
    expect(byFile.out).toContain("load.total of sales 2026-05-09T00-00-00Z: success");
    const byId = await meridian(
      "tasks",
      "test",
      "sales",
      ...args,
      "--input",
      "rows=@rows.json",
      "--output",
      "json",
    );
    expect(JSON.parse(byId.out)).toMatchObject({
      state: "success",
      output: { total: 30 },
      taskId: "load.total",
    });
    // An id that only the running code has.
    expect((await meridian("tasks", "test", "rain_oslo", "say")).out).toContain('"oslo"');
  });

  it("a failure names the lines of the author's files alone, shared modules among them, and is the exit code", async () => {
    const { code, out } = await meridian("tasks", "test", "sales", "load.total", "--input", "rows=[]");
    expect(code).toBe(1);
    expect(out).toMatch(
      /Error: nothing to add\n\s+at sum \(dags\/lib\/sum\.ts:2:\d+\)\n\s+at .*dags\/sales\.ts:11:\d+/,
    );
    expect(out).not.toMatch(/authoring|node_modules|node:/);
    expect((await meridian("tasks", "test", "sales", "late", "--try", "3")).code).toBe(0);
    expect((await meridian("tasks", "test", "sales", "late")).out).toContain("not yet");
  });

  it("A6: of a sensor one check, and what it answered", async () => {
    const no = await meridian("tasks", "test", "waiting", "file");
    expect(no.code).toBe(0);
    expect(no.out).toMatch(
      /file of waiting \S+: deferred: not yet: its check answered false, null or undefined; it would be asked again every 300000 ms/,
    );
    const yes = await meridian("tasks", "test", "waiting", "file", "--try", "2");
    expect(yes.out).toContain('"file": "there"');
    expect(yes.out).toMatch(/file of waiting \S+: success/);
  });

  it.each([
    [["waiting", "approval"], "has no body that could be tried: it waits until somebody ends it"],
    [["sales", "total"], 'has no task "total"; did you mean "load.total"?'],
    [["sales", "load.total"], 'reads "rows" (the output of task "rows"): give a value for each'],
    [["sales", "load.total", "--input", "row=1"], 'has no input "row"; did you mean "rows"?'],
    [["sales", "load.total", "--input", "rows=[1"], "--input rows=[1: expected JSON"],
    [["sales", "load.total", "--input", "rows"], "expected name=JSON or name=@file.json"],
    [["sales", "load.total", "--input", "rows=@none.json"], "no such file"],
    [["sales", "load.total", "--conf", '{"region":1}'], "region"],
    [["sales", "load.total", "--conf", "[]"], "expected a JSON object"],
    [["sale", "load.total"], 'no DAG of this id in .*; did you mean "sales"?'],
    [
      ["dags/sales.ts", "load.total"],
      "has 4 DAGs: name one of sales, waiting, rain_rome, rain_oslo with --dag",
    ],
    [["dags/sales.ts", "x", "--dag", "sals"], 'has no dag "sals"; did you mean "sales"?'],
    [["dags/none.ts", "x"], "there is no file dags/none.ts"],
  ])("says what is wrong: %j", async (args, text) => {
    const { code, err } = await meridian("tasks", "test", ...args);
    expect(code).toBeGreaterThan(0);
    expect(err).toMatch(new RegExp(text.replaceAll(/[[\](){}?]/g, "\\$&")));
  });
});

describe("F1: meridian tasks render", () => {
  it("shows the templates as the body would get them", async () => {
    const table = await meridian("tasks", "render", "sales", "load.total", "--interval", "2026-05-09");
    expect(table.err).toBe("");
    expect(table.out).toContain("path  s3://2026-05-09/eu");
    const json = await meridian(
      "tasks",
      "render",
      "sales",
      "load.total",
      "--interval",
      "2026-05-09",
      "--output",
      "json",
    );
    expect(JSON.parse(json.out)).toMatchObject({ path: "s3://2026-05-09/eu", list: [expect.any(String), 1] });
    expect((await meridian("tasks", "render", "sales", "late")).out).toContain(
      'task "late" has no templates',
    );
  });
});

describe("F1: a debugger", () => {
  it("stops at a line of the TypeScript file, with its variables", { timeout: 60_000 }, async () => {
    const command = [COMMAND, "tasks", "test", "sales", "load.total", "--input", "rows=[4,5]"];
    const child = spawn(process.execPath, ["--inspect-brk=127.0.0.1:0", ...command], {
      cwd: project,
      env: environment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = new Promise<number | null>((done) => child.once("exit", done));
    try {
      let text = "";
      const url = await new Promise<string>((found, failed) => {
        child.stderr.on("data", (chunk: Buffer) => {
          const address = /ws:\/\/\S+/.exec((text += chunk.toString()));
          if (address !== null) found(address[0]);
        });
        void ended.then(() => failed(new Error(text)));
      });
      const client = join(import.meta.dirname, "debug-client.mjs");
      // `return { total, … }` of the body.
      const args = ["--experimental-websocket", "--no-warnings", client, url, "dags/sales.ts", "12"];
      const told = await new Promise<string>((done, failed) =>
        execFile(process.execPath, args, { timeout: 40_000 }, (error, out, err) =>
          error === null ? done(out) : failed(new Error(`${err}${out}${text}`)),
        ),
      );
      expect(JSON.parse(told)).toEqual({ line: 12, total: 9 });
      expect(await ended).toBe(0);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
