import { statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { adviceOnLists } from "../core/advice.ts";
import { MeridianError, Refused } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import type { DagFiles } from "../processor/dag-files.ts";
import { lineOfId } from "../processor/line-of-id.ts";
import type { FileReport } from "../processor/validate.ts";
import { type CheckedFile, errorsOf, type Format, FORMATS, print, type Problem, shown } from "./problems.ts";

/** An import that takes longer is felt by whoever saves the file, and by each worker thread. */
const BUDGET_MS = 5_000;

interface Options {
  readonly output: Format;
  readonly budgetMs: number;
  readonly changedSince?: string;
}

/** What is to be checked: paths relative to `folder`. */
interface Scope {
  readonly folder: string;
  readonly files: readonly string[];
  /** Which ids they take counts, and nothing else. */
  readonly others: readonly string[];
  /** Who imports whom. */
  readonly modules: DagFiles;
}

export function validateCommand(program: Command): void {
  program
    .command("validate [paths...]")
    .description("check DAG files as the processor would, without any server; for CI")
    .option(
      "--changed-since <ref>",
      "only files that changed since the branch left this git commit, or import what did",
    )
    .option("--budget-ms <n>", "longest import of a file that is no problem, in ms", wholeMs, BUDGET_MS)
    .option("--output <format>", "text, json, or annotations (GitHub's workflow commands)", format, "text")
    .addHelpText(
      "after",
      `
Paths are DAG files and folders with them; without any, MERIDIAN_DAGS.
Ends with 0 when all is well, 1 when a file has an error, 2 when it was called wrongly.`,
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (paths: readonly string[], options: Options) => {
      try {
        const checked = await check(paths, options);
        print(checked, options.output);
        if (errorsOf(checked) > 0) process.exitCode = 1;
      } catch (error) {
        if (!(error instanceof MeridianError)) throw error;
        console.error(`error: ${error.message}`);
        process.exitCode = 2;
      }
    });
}

async function check(paths: readonly string[], options: Options): Promise<readonly CheckedFile[]> {
  // Loaded when they are wanted: every command passes through this file.
  const { readConfig } = await import("../platform/config.ts");
  const { linkPackages } = await import("../platform/code-folder.ts");
  const { projectOf } = await import("./dag-files.ts");
  const config = readConfig();
  const { changedSince } = await import("../processor/changed-files.ts");
  const { validate } = await import("../processor/validate.ts");
  const scope = await scopeOf(paths, config);
  const files =
    options.changedSince === undefined
      ? scope.files
      : await changedSince(options.changedSince, scope.folder, scope.files);
  if (files.length === 0) return [];
  const project = projectOf(join(scope.folder, files[0]!));
  const home = config.env["MERIDIAN_HOME"] === undefined ? join(project, ".meridian") : resolve(config.home);
  linkPackages(home, project);
  const limits = { timeoutMs: config.importTimeoutMs };
  const others = [...scope.files, ...scope.others];
  const { folder } = scope;
  const nameOf = (path: string) => shown(resolve(folder, path));
  const reports = await validate(files, { folder, home, limits, others, nameOf });
  return reports.map((report) => checkedFile(report, scope, options.budgetMs));
}

async function scopeOf(paths: readonly string[], config: Config): Promise<Scope> {
  const { DagFiles, scan } = await import("../processor/dag-files.ts");
  const { mayBeDagFile } = await import("../processor/scan.ts");
  const dags = resolve(config.dags);
  const targets = (paths.length === 0 ? [dags] : paths).map((path) => resolve(path));
  const found = new Set<string>();
  for (const target of targets) {
    const stat = statSync(target, { throwIfNoEntry: false });
    if (stat === undefined) {
      const what =
        paths.length === 0 ? "the DAG folder (MERIDIAN_DAGS)" : "a DAG file or a folder with DAG files";
      throw new Refused("no_file", `${shown(target)} does not exist; expected ${what}`);
    }
    if (stat.isDirectory()) for (const file of await scan(target)) found.add(join(target, file));
    else if (mayBeDagFile(target.split(sep).at(-1)!)) found.add(target);
    else
      throw new Refused(
        "no_dag_file",
        `${shown(target)} is no DAG file; expected a name in .ts, .js or .mjs`,
      );
  }
  if (found.size === 0) {
    throw new Refused(
      "no_dag_files",
      `no DAG file below ${targets.map(shown).join(", ")}; a DAG file imports "meridian", or a module that does, and its name ends in .ts, .js or .mjs`,
    );
  }
  const absolute = [...found].sort();
  const isInside = absolute.every((file) => file.startsWith(dags + sep));
  const folder = isInside ? dags : commonFolder(absolute);
  const files = absolute.map((file) => relative(folder, file));
  const modules = new DagFiles(folder);
  if (isInside) return { folder, files, others: await modules.scan(), modules };
  await modules.changed(files);
  return { folder, files, others: [], modules };
}

/** The nearest folder above all of them. */
function commonFolder(files: readonly string[]): string {
  let folder = dirname(files[0]!);
  while (!files.every((file) => file.startsWith(folder.endsWith(sep) ? folder : folder + sep)))
    folder = dirname(folder);
  return folder;
}

function checkedFile(report: FileReport, { folder, modules }: Scope, budgetMs: number): CheckedFile {
  const file = shown(resolve(folder, report.path));
  const at = { file, line: null, column: null, stack: null };
  const dagIds = report.graphs.map((graph) => graph.dagId);
  const problems: Problem[] = [];
  const { error, durationMs } = report;
  if (error !== null) {
    const place = error.file === undefined ? file : shown(resolve(folder, error.file));
    problems.push({
      severity: "error",
      code: error.code,
      message: error.message,
      file: place,
      line: error.line ?? null,
      column: error.column ?? null,
      stack: error.stack ?? null,
    });
  }
  if (durationMs > budgetMs && error?.code !== "import_timeout") {
    problems.push({
      ...at,
      severity: "error",
      code: "import_budget",
      message:
        `its import took ${durationMs} ms, more than the budget of ${budgetMs} ms: move slow work at the top level ` +
        "into a task, or give more time by --budget-ms",
    });
  }
  if (error === null && dagIds.length === 0 && !modules.isImported(report.path)) {
    const message = "it defines no DAG: is dag(...) called when the file is loaded?";
    problems.push({ ...at, severity: "warning", code: "no_dag", message });
  }
  for (const graph of report.graphs) {
    const { dagId, tasks } = graph;
    const line = lineOfId(resolve(folder, report.path), dagId) ?? null;
    if (tasks.length === 0) {
      const message = `dag "${dagId}" has no task, so its runs do nothing; define tasks inside the function given to dag()`;
      problems.push({ ...at, line, severity: "warning", code: "empty_dag", message });
    }
    for (const advice of adviceOnLists(graph))
      problems.push({
        ...at,
        line,
        severity: "warning",
        code: "fans_out_small",
        message: `dag "${dagId}": ${advice}`,
      });
  }
  return { file, dagIds, importMs: durationMs, problems };
}

function wholeMs(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw usage(`--budget-ms ${text}: expected a whole number of milliseconds from 1`);
  return Number(text);
}

function format(text: string): Format {
  const found = FORMATS.find((name) => name === text);
  if (found === undefined) throw usage(`--output ${text}: expected ${FORMATS.join(", ")}`);
  return found;
}

const usage = (message: string): InvalidArgumentError => new InvalidArgumentError(message);
