import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, afterEach, vi } from "vitest";
import { createRunner, type RunnerOptions } from "../../../activities/runner/runner.ts";
import type { BodyJob, Runner } from "../../../activities/runner/types.ts";
import type { BodyContext, BodyOutcome, LogLine } from "../../../core/body.ts";

const root = join(import.meta.dirname, "../../../.meridian");
mkdirSync(root, { recursive: true });

// Starting threads and processes takes seconds on a busy machine.
vi.setConfig({ testTimeout: 40_000, hookTimeout: 40_000 });

const runners: Runner[] = [];
const folders: string[] = [];
let shared: Given | null = null;
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.drain(0)));
});
afterAll(async () => {
  await shared?.drain(0);
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder for bundles, inside the project, so that `meridian` resolves. */
export function codeFolder(): string {
  const folder = mkdtempSync(join(root, "test-code-"));
  folders.push(folder);
  return folder;
}

export interface Given extends Runner {
  readonly notes: LogLine[];
}

/** The file's common runner, for bodies that harm nobody. */
export function common(): Given {
  return (shared ??= make({}));
}

/** A runner that is drained when the test ends. */
export function given(options: Partial<RunnerOptions> = {}): Given {
  const runner = make(options);
  runners.push(runner);
  return runner;
}

function make(options: Partial<RunnerOptions>): Given {
  const notes: LogLine[] = [];
  const runner = createRunner({
    threads: 1,
    codeFolder: options.codeFolder ?? codeFolder(),
    connections: {},
    killGraceMs: 300,
    log: (line) => notes.push(line),
    ...options,
  });
  return Object.assign(runner, { notes });
}

/** A bundle of one DAG, "tests"; `tasks` are bodies by task id, as text. */
export function bundle(tasks: Readonly<Record<string, string>>, head = ""): string {
  const calls = Object.entries(tasks).map(([id, body]) => `  task(${JSON.stringify(id)}, ${body});`);
  return `import { dag, task, skip, fail } from "meridian";
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const spin = (ms) => { const until = Date.now() + ms; while (Date.now() < until); };
${head}
dag("tests", { schedule: null }, () => {
${calls.join("\n")}
});
`;
}

/** What the processor makes of a DAG file: one module, and its source map. */
export async function bundleFile(folder: string, file: string): Promise<{ code: string; sourceMap: string }> {
  const built = await build({
    entryPoints: [`./${file}`],
    absWorkingDir: folder,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    sourcemap: "external",
    outfile: "bundle.mjs",
    write: false,
  });
  const text = (end: string): string => built.outputFiles.find((one) => one.path.endsWith(end))!.text;
  return { code: text(".mjs"), sourceMap: text(".map") };
}

export interface Ran {
  readonly outcome: BodyOutcome;
  readonly lines: LogLine[];
  readonly texts: string[];
  readonly ms: number;
}

export interface JobOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly inputs?: Record<string, unknown>;
  readonly isolation?: "shared" | "own";
  readonly context?: Partial<BodyContext>;
  readonly onLine?: (line: LogLine) => void;
  readonly sourceMap?: string;
}

export function jobOf(code: string, taskId: string, options: JobOptions = {}): BodyJob {
  return {
    bundleHash: createHash("sha256").update(code).digest("hex"),
    loadBundle: async () => ({ code, sourceMap: options.sourceMap ?? null }),
    context: {
      dagId: "tests",
      runId: "2026-05-09T00-00-00Z",
      run: 1,
      runType: "scheduled",
      taskId,
      mapIndex: -1,
      try: 1,
      maxTries: 1,
      logicalDate: "2026-05-09T00:00:00.000Z",
      dataInterval: { start: "2026-05-09T00:00:00.000Z", end: "2026-05-10T00:00:00.000Z" },
      ds: "2026-05-09",
      zone: "UTC",
      conf: {},
      ...options.context,
    },
    inputs: options.inputs ?? {},
    executionTimeoutMs: options.timeoutMs ?? null,
    isolation: options.isolation ?? "shared",
  };
}

export async function ran(
  runner: Runner,
  code: string,
  taskId: string,
  options: JobOptions = {},
): Promise<Ran> {
  const lines: LogLine[] = [];
  const begun = performance.now();
  const signal = options.signal ?? new AbortController().signal;
  const outcome = await runner.run(jobOf(code, taskId, options), signal, (line) => {
    lines.push(line);
    options.onLine?.(line);
  });
  return { outcome, lines, texts: lines.map((line) => line.text), ms: performance.now() - begun };
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
