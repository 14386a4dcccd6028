import { statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { MeridianError, Refused } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import type { FileReport } from "../processor/validate.ts";

/** An import that takes longer is felt by whoever saves the file, and by each worker thread. */
const BUDGET_MS = 5_000;
const FORMATS = ["text", "json", "annotations"] as const;
type Format = (typeof FORMATS)[number];

interface Options {
  readonly output: Format;
  readonly budgetMs: number;
  readonly changedSince?: string;
}

interface Problem {
  readonly severity: "error" | "warning";
  /** Stable; match on it. */
  readonly code: string;
  readonly message: string;
  /** Where to look: relative to the working folder. */
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly stack: string | null;
}

interface CheckedFile {
  readonly file: string;
  readonly dagIds: readonly string[];
  readonly importMs: number;
  readonly problems: readonly Problem[];
}

/** What is to be checked: paths relative to `folder`. */
interface Scope {
  readonly folder: string;
  readonly files: readonly string[];
  /** Which ids they take counts, and nothing else. */
  readonly others: readonly string[];
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
  const reports = await validate(files, { folder: scope.folder, home, limits, others });
  return reports.map((report) => checkedFile(report, scope.folder, options.budgetMs));
}

async function scopeOf(paths: readonly string[], config: Config): Promise<Scope> {
  const { mayBeDagFile, scan } = await import("../processor/scan.ts");
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
      `no DAG file below ${targets.map(shown).join(", ")}; a DAG file calls dag(...) and its name ends in .ts, .js or .mjs`,
    );
  }
  const files = [...found].sort();
  const isInside = files.every((file) => file.startsWith(dags + sep));
  const folder = isInside ? dags : commonFolder(files);
  return {
    folder,
    files: files.map((file) => relative(folder, file)),
    others: isInside ? await scan(dags) : [],
  };
}

/** The nearest folder above all of them. */
function commonFolder(files: readonly string[]): string {
  let folder = dirname(files[0]!);
  while (!files.every((file) => file.startsWith(folder.endsWith(sep) ? folder : folder + sep)))
    folder = dirname(folder);
  return folder;
}

function checkedFile(report: FileReport, folder: string, budgetMs: number): CheckedFile {
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
  if (error === null && dagIds.length === 0) {
    const message = "it defines no DAG: is dag(...) called when the file is loaded?";
    problems.push({ ...at, severity: "warning", code: "no_dag", message });
  }
  return { file, dagIds, importMs: durationMs, problems };
}

function print(checked: readonly CheckedFile[], output: Format): void {
  const problems = checked.flatMap((one) => one.problems);
  if (output === "json") {
    console.log(JSON.stringify({ ok: errorsOf(checked) === 0, files: checked }, null, 2));
    return;
  }
  for (const problem of problems) console.log(output === "text" ? asText(problem) : asAnnotation(problem));
  const dags = checked.reduce((sum, one) => sum + one.dagIds.length, 0);
  const errors = errorsOf(checked);
  const summary =
    `${counted(checked.length, "file")}, ${counted(dags, "DAG")}: ` +
    `${counted(errors, "error")}, ${counted(problems.length - errors, "warning")}`;
  // Whoever reads annotations reads all of stdout as commands.
  if (output === "text") console.log(summary);
  else console.error(summary);
}

const errorsOf = (checked: readonly CheckedFile[]): number =>
  checked.flatMap((one) => one.problems).filter(({ severity }) => severity === "error").length;

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

function asText({ severity, code, message, file, line, column }: Problem): string {
  const place = [file, line, line === null ? null : column].filter((part) => part !== null).join(":");
  return `${place}  ${severity}  ${message}  (${code})`;
}

/** https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function asAnnotation({ severity, code, message, file, line, column }: Problem): string {
  const properties = {
    file,
    ...(line !== null && { line }),
    ...(line !== null && column !== null && { col: column }),
    title: code,
  };
  const escaped = (text: string) =>
    text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (value: string | number) =>
    escaped(String(value)).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const list = Object.entries(properties).map(([name, value]) => `${name}=${property(value)}`);
  return `::${severity} ${list.join(",")}::${escaped(message)}`;
}

/** As seen from the working folder, with `/`. */
const shown = (path: string): string => relative("", path).replaceAll("\\", "/") || ".";

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
