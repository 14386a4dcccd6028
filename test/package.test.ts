import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as authoring from "meridian";
import * as client from "meridian/client";
import * as testing from "meridian/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { buildClient } from "../cli/package-build.ts";
import { BUNDLE_LIMIT_BYTES, withoutMap, workflowBundle } from "../worker/bundle.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const manifest = JSON.parse(read("package.json")) as {
  exports: Record<string, unknown>;
  bin: Record<string, string>;
  license: string;
};

/** Exported names of an entry file, types among them. */
function namesOf(path: string): string[] {
  const text = read(path).replaceAll(/\/\*[\s\S]*?\*\//g, "");
  expect(text, `${path} exports by name only`).not.toMatch(/export\s+\*/);
  return [...text.matchAll(/export\s+(?:type\s+)?\{([^}]*)\}/g)]
    .flatMap((match) => match[1]!.split(","))
    .map((name) => name.trim().replace(/^type\s+/, ""))
    .filter((name) => name !== "")
    .sort();
}

describe("F5: the published names; a new one is added here in the same review", () => {
  it("there are three entries and one command", () => {
    expect(Object.keys(manifest.exports)).toEqual([".", "./client", "./testing"]);
    expect(manifest.bin).toEqual({ meridian: "./cli/meridian.mjs" });
    expect(manifest.license).toBe("Apache-2.0");
  });

  it("A1: meridian", () => {
    expect(Object.keys(authoring).sort()).toEqual([
      "branch",
      "dag",
      "defer",
      "fail",
      "retryAfter",
      "sensor",
      "shortCircuit",
      "skip",
      "switchOn",
      "task",
      "taskGroup",
      "waitAndRetry",
      "waitFor",
      "waitForRun",
      "waitUntil",
    ]);
    expect(namesOf("authoring/index.ts")).toEqual([
      "AnyParams",
      "BranchOf",
      "CommonTaskOptions",
      "Dag",
      "DagId",
      "DagOptions",
      "DagTools",
      "DateInput",
      "Duration",
      "Expand",
      "GroupOptions",
      "GroupRef",
      "InputValues",
      "Inputs",
      "ItemRef",
      "Log",
      "MappedRef",
      "NotJson",
      "Output",
      "ParamsOf",
      "ParamsSchema",
      "Rendered",
      "Resumed",
      "RetryRule",
      "Schedule",
      "SensorOf",
      "SensorOptions",
      "ShortCircuitOf",
      "SwitchOnOf",
      "SwitchOptions",
      "Target",
      "Targets",
      "TaskBody",
      "TaskContext",
      "TaskDefaults",
      "TaskGroupOf",
      "TaskOf",
      "TaskOptions",
      "TaskOrGroup",
      "TaskRef",
      "Teardown",
      "Template",
      "Templates",
      "TriggerRule",
      "WaitForOf",
      "WaitForOptions",
      "WaitForRunOf",
      "WaitForRunOptions",
      "WaitUntilOf",
      "WaitUntilOptions",
      "WakeUp",
      "branch",
      "dag",
      "defer",
      "fail",
      "retryAfter",
      "sensor",
      "shortCircuit",
      "skip",
      "switchOn",
      "task",
      "taskGroup",
      "waitAndRetry",
      "waitFor",
      "waitForRun",
      "waitUntil",
    ]);
  });

  it("meridian/client", () => {
    expect(Object.keys(client).sort()).toEqual(["ApiError", "createClient"]);
    expect(namesOf("remote/index.ts")).toEqual([
      "ApiError",
      "CallOptions",
      "CellSelection",
      "ChangeOptions",
      "ClearSelection",
      "Client",
      "ConnectOptions",
      "DagFilter",
      "DialBounds",
      "DialWish",
      "FileFilter",
      "IdsOf",
      "LiveEvent",
      "Pages",
      "ProblemDetails",
      "RunFilter",
      "StreamOptions",
      "TaskOf",
      "TriggerOptions",
      "TriggerParams",
      "TryOf",
      "WaitFilter",
      "WaitOptions",
      "createClient",
    ]);
  });

  it("F1: meridian/testing", () => {
    expect(Object.keys(testing).sort()).toEqual(["connectionsFrom", "renderTask", "runDag", "runTask"]);
    expect(namesOf("authoring/testing.ts")).toEqual([
      "LocalOptions",
      "LocalRun",
      "LocalTask",
      "LocalTry",
      "RunOptions",
      "TaskRunOptions",
      "connectionsFrom",
      "renderTask",
      "runDag",
      "runTask",
    ]);
  });

  it("nothing else can be imported", async () => {
    for (const name of ["meridian/core/run.ts", "meridian/db/runs.ts", "meridian/package.json"]) {
      await expect(import(/* @vite-ignore */ name), name).rejects.toThrow();
    }
  });

  // @ts-expect-error a body is no string
  void (() => authoring.task("x", "no body"));
  // @ts-expect-error an unknown option
  void (() => authoring.dag("x", { shedule: "@daily" }, () => undefined));
  // @ts-expect-error a client needs the address of an API
  void (() => client.createClient({}));
  // @ts-expect-error runs a DAG, not its id
  void (() => testing.runDag("hello"));
});

describe("C12: what a package would carry", () => {
  it("sources, migrations, the page and the examples; no test, no bench, no data", async () => {
    await buildClient();
    const answer = JSON.parse(
      execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
        cwd: ROOT,
        encoding: "utf8",
      }),
    ) as { files: { path: string }[] }[];
    const files = Object.values(answer)[0]!.files.map((file) => file.path);
    const folders = [
      ...new Set(files.filter((path) => path.includes("/")).map((path) => path.split("/")[0]!)),
    ];
    expect(folders.sort()).toEqual([
      "activities",
      "api",
      "authoring",
      "cli",
      "client",
      "core",
      "dags",
      "db",
      "dist",
      "platform",
      "processor",
      "remote",
      "schedules",
      "web",
      "worker",
      "workflows",
    ]);
    expect(files.filter((path) => !path.includes("/")).sort()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "package.json",
    ]);
    for (const path of [
      "db/migrations/0001_first.sql",
      "cli/meridian.mjs",
      "dags/hello.ts",
      "authoring/files.d.ts",
      "dist/client.js",
    ]) {
      expect(files).toContain(path);
    }
    expect(files.filter((path) => /\.test\.|fixtures|\.env|\.log$/.test(path))).toEqual([]);
  });
});

describe("B3: the workflow bundle", () => {
  let code: string;
  beforeAll(async () => {
    const warnings: string[] = [];
    code = readFileSync(await workflowBundle((line) => warnings.push(line)), "utf8");
    expect(warnings).toEqual([]);
  }, 120_000);

  it("has at most 450 kB without its map", () => {
    expect(BUNDLE_LIMIT_BYTES).toBeLessThanOrEqual(450_000);
    expect(withoutMap(code).length).toBeGreaterThan(100_000);
    expect(withoutMap(code).length).toBeLessThanOrEqual(BUNDLE_LIMIT_BYTES);
  });

  it("holds our pure rules, Temporal's workflow half, and nothing else", () => {
    // Each module stands under its path, in a table.
    const modules = [
      ...new Set(
        [...withoutMap(code).matchAll(/"(\.\/[^"\n]+\.(?:ts|js|mjs|cjs))"/g)].map((match) => match[1]!),
      ),
    ];
    const ours = modules.filter((name) => !name.includes("node_modules/"));
    expect(ours).toContain("./core/run.ts");
    expect(ours.filter((name) => !/^\.\/(?:core|workflows)\//.test(name))).toEqual([]);
    expect(ours.filter((name) => name.startsWith("./core/calendar/"))).toEqual([]);
    const packages = modules
      .filter((name) => name.includes("node_modules/"))
      .map((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)![1]!);
    expect([...new Set(packages)].sort()).toEqual([
      "@temporalio/common",
      "@temporalio/workflow",
      "long",
      "ms",
      "nexus-rpc",
    ]);
  });
});
