import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { diffSources } from "../../api/source-diff.ts";
import type { Graph, RunDetail, VersionDiff } from "../../api/contracts.ts";
import { dag } from "../../authoring/index.ts";
import { called, startCall } from "../../cli/call.ts";
import { diffLines } from "../../cli/diff-text.ts";
import { printRun } from "../../cli/run-text.ts";
import { paramsOf } from "../../cli/params-text.ts";
import { failedDeps } from "../../cli/why.ts";
import { canonicalJson } from "../../core/canonical.ts";
import type { TaskState } from "../../core/states.ts";
import type { Client } from "../../remote/index.ts";

describe("F6: hints can be typed as they stand", () => {
  it.for([
    [
      "by npm's script of the clone",
      { npm_package_name: "meridian", npm_lifecycle_event: "meridian" },
      "npm run meridian -- runs list",
    ],
    [
      "by npx",
      { npm_package_name: "mine", npm_lifecycle_event: "npx", npm_lifecycle_script: "'meridian'" },
      "npx meridian runs list",
    ],
    [
      "in a test that npx runs",
      { npm_lifecycle_event: "npx", npm_lifecycle_script: "'vitest'" },
      "meridian runs list",
    ],
    [
      "in a script of a project",
      { npm_package_name: "mine", npm_lifecycle_event: "nightly" },
      "meridian runs list",
    ],
    ["by its name", {}, "meridian runs list"],
  ] as const)("%s", ([, env, text]) => expect(called("runs list", env)).toBe(text));

  it.for([
    ["of the clone", {}, "file:///home/me/meridian/cli/call.ts", "npm start"],
    ["of the package", {}, "file:///home/me/mine/node_modules/meridian/cli/call.ts", "npx meridian start"],
    [
      "by npx",
      { npm_lifecycle_event: "npx", npm_lifecycle_script: "meridian" },
      "file:///home/me/meridian/cli/call.ts",
      "npx meridian start",
    ],
  ] as const)("the start %s", ([, env, code, text]) => expect(startCall(env, code)).toBe(text));
});

describe("F10: dags diff", () => {
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, i) => `line\t${from + i}\n`).join("");
  const changes: readonly (readonly [what: string, before: string | null, after: string | null])[] = [
    [
      "lines in the middle and at the end",
      lines(1, 100),
      lines(1, 9) + "new\n" + lines(11, 80) + lines(85, 99),
    ],
    ["one line", lines(1, 1), "other\n"],
    ["lines before the first", lines(1, 5), `a\nb\n${lines(1, 5)}`],
    ["a file that came", null, lines(1, 3)],
    ["a file that went", lines(1, 3), null],
  ];

  it.for(changes)("a tool makes the later version of the earlier: %s", ([, before, after]) => {
    const source = (text: string | null) => (text === null ? [] : [{ path: "a.ts", source: text }]);
    const version = { number: 1, createdAt: "2026-05-09T00:00:00.000Z" };
    const diff = {
      from: version,
      to: { ...version, number: 2 },
      dag: [{ field: "catchup", before: false, after: true }],
      groups: [],
      tasks: [{ id: "gone", change: "removed", fields: [] }],
      edges: [],
      sources: diffSources(source(before), source(after)),
    } as unknown as VersionDiff;
    const folder = mkdtempSync(join(tmpdir(), "patch-"));
    try {
      if (before !== null) writeFileSync(join(folder, "a.ts"), before);
      const input = `${diffLines(diff).join("\n")}\n`;
      // git, which every machine that runs this has, is as strict as patch.
      execFileSync("git", ["apply", "-p0"], { cwd: folder, input });
      if (after === null) expect(() => readFileSync(join(folder, "a.ts"))).toThrow("ENOENT");
      else expect(readFileSync(join(folder, "a.ts"), "utf8")).toBe(after);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("F16: why a task could not run", () => {
  const graph = {
    tasks: ["extract", "skips", "load", "report", "publish", "either"].map((id) => ({
      id,
      triggerRule: id === "either" ? "one_success" : "all_success",
    })),
    edges: [
      ["extract", "load"],
      ["load", "report"],
      ["report", "publish"],
      ["skips", "either"],
    ].map(([from, to]) => ({ from, to, inputs: [] })),
  } as unknown as Graph;
  const cell = (taskId: string, state: TaskState, began: boolean) => ({
    taskId,
    mapIndex: -1,
    state,
    try: 1,
    startedAt: began ? "2026-05-09T00:00:00.000Z" : null,
    endedAt: "2026-05-09T00:01:00.000Z",
  });
  const run = {
    dagId: "sales",
    runId: "r",
    state: "failed",
    waiting: [],
    cells: [
      cell("extract", "failed", true),
      cell("load", "upstream_failed", false),
      cell("report", "upstream_failed", false),
      cell("publish", "upstream_failed", false),
      cell("skips", "skipped", true),
      cell("either", "skipped", false),
    ],
  } as unknown as RunDetail;
  const why = (taskId: string) => failedDeps(run, graph, taskId, -1);

  it("names the task right before it, and the one that failed, however far before", () => {
    const rule = "its rule all_success cannot be met any more:";
    expect(why("load").deps.map(({ reason }) => reason)).toEqual([`${rule} extract is failed`]);
    expect(why("publish")).toMatchObject({
      state: "upstream_failed",
      deps: [{ dep: "upstream", reason: `${rule} report is upstream_failed, because extract failed` }],
      causes: ["extract"],
    });
  });

  it("F16: of a deferred task, what it waits for", () => {
    const since = "2026-05-09T00:00:00.000Z";
    const waits = {
      taskId: "load",
      mapIndex: -1,
      try: 1,
      pool: null,
      slots: 0,
      reason: "waits until noon",
      since,
    };
    const open = { ...run, state: "running", cells: [cell("load", "deferred", true)], waiting: [waits] };
    expect(failedDeps(open as unknown as RunDetail, graph, "load", -1)).toMatchObject({
      state: "deferred",
      deps: [{ dep: "wait", reason: "waits until noon", since }],
    });
  });

  it("of what was skipped behind a task that skipped itself, that one", () => {
    expect(why("either")).toMatchObject({
      deps: [{ reason: "its rule one_success cannot be met any more: skips is skipped" }],
      causes: ["skips"],
    });
    expect(why("skips"), "it ran").toMatchObject({ deps: [], causes: [] });
    expect(why("extract")).toMatchObject({ deps: [], causes: [] });
  });
});

describe("A2: params as dags details shows them", () => {
  it("in the author's order, each with its type, default and words", () => {
    const Tree = z.object({
      name: z.string(),
      get below() {
        return z.array(Tree).optional();
      },
    });
    const params = z.object({
      region: z.enum(["eu", "us"]).describe("Where it was sold"),
      since: z.iso.date().nullable().default(null),
      limit: z.int().min(1).max(10_000).default(500),
      rate: z.number().gt(0).optional(),
      any: z.int().default(1),
      products: z.array(z.string()).default(["tea"]),
      both: z.array(z.enum(["a", "b"])).optional(),
      window: z.object({ z: z.string(), a: z.string() }).optional(),
      tree: Tree.optional(),
    });
    const { graph } = dag("d", { params }, ({ task }) => void task("t", () => 1));
    const stored = JSON.parse(canonicalJson(graph.params)) as Record<string, unknown>;
    expect(
      paramsOf(stored).map(({ name, type, default: fallback, required, what }) => [
        name,
        type,
        fallback,
        required,
        what,
      ]),
    ).toEqual([
      ["region", '"eu" | "us"', null, true, "Where it was sold"],
      ["since", "date | null", "null", false, ""],
      ["limit", "integer from 1 to 10000", "500", false, ""],
      ["rate", "number above 0", null, false, ""],
      ["any", "integer", "1", false, ""],
      ["products", "list of text", '["tea"]', false, ""],
      ["both", 'list of ("a" | "b")', null, false, ""],
      ["window", "object", null, false, ""],
      ["tree", "object", null, false, ""],
    ]);
  });
});

describe("F6: runs show", () => {
  it("has a row for each task of the run's version, also for those that have not begun", async () => {
    const cell = { taskId: "b", mapIndex: 1, state: "running", try: 2, queuedAt: null, endedAt: null };
    const run = {
      dagId: "d",
      runId: "2026-05-09T00-00-00Z",
      state: "running",
      runType: "manual",
      triggeredBy: null,
      version: 4,
      interval: { start: "2026-05-09T00:00:00.000Z", end: "2026-05-09T00:00:00.000Z" },
      startedAt: null,
      endedAt: null,
      reason: null,
      conf: {},
      temporalUrl: null,
      waiting: [],
      cells: [
        { ...cell, startedAt: null },
        { ...cell, mapIndex: 0, startedAt: null },
      ],
    } as unknown as RunDetail;
    const asked: unknown[] = [];
    const client = {
      url: "http://127.0.0.1:1",
      dags: {
        version: (...of: unknown[]) => {
          asked.push(of);
          return Promise.resolve({ graph: { tasks: [{ id: "c" }, { id: "b" }, { id: "a" }] } });
        },
      },
    } as unknown as Client;
    const printed: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
    try {
      await printRun(client, run);
    } finally {
      log.mockRestore();
    }
    expect(asked).toEqual([["d", 4]]);
    const rows = printed.join("\n").split("\n").slice(-4);
    expect(rows.map((row) => row.trim().split(/ +/).slice(0, 3))).toEqual([
      ["c", "-", "none"],
      ["b", "0", "running"],
      ["b", "1", "running"],
      ["a", "-", "none"],
    ]);
  });
});
