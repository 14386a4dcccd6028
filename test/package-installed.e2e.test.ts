import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildClient, buildTypes } from "../cli/package-build.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
let project: string;

/** As `npm install` of the packed file leaves it, but for the packages it depends on: links to ours. */
beforeAll(async () => {
  await buildClient();
  buildTypes();
  project = mkdtempSync(join(tmpdir(), "meridian-project-"));
  const packed = execFileSync(
    "npm",
    ["pack", "--ignore-scripts", "--silent", "--pack-destination", project],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  ).trim();
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "meridian"), { recursive: true });
  execFileSync("tar", [
    "xzf",
    join(project, packed),
    "--strip-components=1",
    "-C",
    join(modules, "meridian"),
  ]);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(dependencies), "@types/node"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  mkdirSync(join(project, "dags"));
  writeFileSync(join(project, "dags/words.csv"), "a,b\n");
  writeFileSync(
    join(project, "dags/mine.ts"),
    `import { dag } from "meridian";
import { z } from "zod";
import words from "./words.csv";
const params = z.object({ region: z.enum(["eu", "us"]).default("eu") });
export const mine = dag("mine", { schedule: null, params }, ({ task }) => {
  const numbers = task("numbers", ({ params }) => [params.region.length, words.length]);
  task("count", { inputs: { numbers } }, ({ inputs }) => inputs.numbers.length);
});
`,
  );
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const meridian = (args: readonly string[]): string =>
  execFileSync(join(project, "node_modules/meridian/cli/meridian.mjs"), args, {
    cwd: project,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
  });

test("the packed command is executable, and loads with nothing but what is packed", () => {
  expect(meridian(["--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(meridian(["--help"])).toContain("Usage: meridian");
});

test("in a project of its own it checks and runs the project's DAG files", () => {
  expect(() => meridian(["validate"])).not.toThrow();
  expect(meridian(["dags", "test", "dags/mine.ts", "--interval", "2026-05-09"])).toContain("success");
});

const node = async (file: string, args: readonly string[] = []): Promise<string> =>
  (await promisify(execFile)(process.execPath, [...args, join(project, file)], { cwd: project })).stdout;

test("meridian/client loads in plain Node, without a loader of TypeScript", async () => {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ runId: `made by ${request.method} ${request.url}` }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  writeFileSync(
    join(project, "trigger.mjs"),
    `import { createClient } from "meridian/client";
const client = createClient({ url: "http://127.0.0.1:${(server.address() as AddressInfo).port}" });
console.log((await client.trigger("mine")).runId);
`,
  );
  try {
    expect(await node("trigger.mjs")).toBe("made by POST /api/v1/dags/mine/runs\n");
  } finally {
    server.close();
  }
});

test("meridian and meridian/testing load in Node with tsx", async () => {
  writeFileSync(
    join(project, "run.ts"),
    `import { dag, task } from "meridian";
import { runDag } from "meridian/testing";
const run = await runDag(dag("small", {}, () => void task("one", () => 1)));
console.log(run.state, run.tasks["one"]?.output);
`,
  );
  expect(await node("run.ts", ["--import", "tsx"])).toBe("success 1\n");
});

test(
  "a compiler takes the types, whatever else it is strict about, and finds what is wrong",
  { timeout: 120_000 },
  () => {
    writeFileSync(
      join(project, "use.ts"),
      `import { createClient } from "meridian/client";
import { runDag, type LocalRun } from "meridian/testing";
import * as dags from "./dags/mine.ts";
const client = createClient<typeof dags>({ url: "http://127.0.0.1" });
export const state: "success" | "failed" | "running" | "queued" | "cancelled" = (await client.runs.get("mine", "x")).state;
export const local: LocalRun = await runDag(dags.mine);
void client.trigger("mine", { region: "us" });
// @ts-expect-error no such region
void client.trigger("mine", { region: "mars" });
// @ts-expect-error no such DAG
void client.trigger("yours");
// @ts-expect-error a number
export const version: string = (await client.runs.get("mine", "x")).version;
// @ts-expect-error a DAG, not its id
void runDag("mine");
`,
    );
    // Stricter than our own sources, which this would find hundreds of faults in.
    const compilerOptions = {
      target: "es2023",
      module: "nodenext",
      types: ["node"],
      strict: true,
      noPropertyAccessFromIndexSignature: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noUnusedParameters: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      noEmit: true,
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["dags", "use.ts"] }),
    );
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "--listFiles"], { cwd: project, encoding: "utf8" });
    const [files, said] = [/^\/\S+$/, /^(?!\/\S+$)./].map((line) =>
      stdout.split("\n").filter((text) => line.test(text)),
    );
    expect(said).toEqual([]);
    expect(
      files!.filter((name) => name.includes("node_modules/meridian/") && !name.endsWith(".d.ts")),
    ).toEqual([]);
    expect(files!.some((name) => name.endsWith("meridian/dist/types/remote/index.d.ts"))).toBe(true);
  },
);
