import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { collect, type Dag } from "../authoring/collect.ts";
import { DefinitionError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { writeBundle } from "../platform/code-folder.ts";
import { withoutFolder } from "./beside.ts";
import { bundleFile } from "./bundle.ts";
import { Claims, duplicateError } from "./claims.ts";
import { bundleOne, type Examined, importOne, rooted, type Surroundings } from "./examine.ts";
import { lockHashOf } from "./hashes.ts";
import { makeImportFolder } from "./import-folder.ts";
import { Importer } from "./importer.ts";
import { lineOfId } from "./line-of-id.ts";
import { inParallel } from "../core/in-parallel.ts";
import { nameIn } from "./scan.ts";
import { placeOf } from "./source-error.ts";
import { DEFAULT_LIMITS, type FileError, type ImportLimits } from "./types.ts";

/** What the processor would find in a file. */
export interface FileReport {
  /** Relative to the folder. */
  readonly path: string;
  readonly graphs: readonly SerialGraph[];
  readonly error: FileError | null;
  /** Of the import alone, without the start of its process. */
  readonly durationMs: number;
}

export interface ValidateOptions {
  /** To which paths in reports are relative. */
  readonly folder: string;
  /** The data folder; inside the project, so that `meridian` and packages resolve from it. */
  readonly home: string;
  readonly limits?: Partial<ImportLimits>;
  /** Files that are not reported on; what they define is taken, too. */
  readonly others?: readonly string[];
  /** How messages name a file; without it by its path as in reports. */
  readonly nameOf?: (path: string) => string;
}

/**
 * Examines files as the processor does, without a database, each in a clean process; also finds ids that two of them
 * define. Stricter than the processor: what a file's packages do at import counts as the file's doing.
 */
export async function validate(
  files: readonly string[],
  { folder, home, limits, others = [], nameOf = (path) => path }: ValidateOptions,
): Promise<readonly FileReport[]> {
  return await withImportFolder(home, async (importFolder) => {
    const root = realpathSync(folder);
    const names = (paths: readonly string[]) => paths.map((path) => nameIn(root, resolve(root, path)));
    const paths = [...new Set(names(files))];
    const timeoutMs = limits?.timeoutMs ?? DEFAULT_LIMITS.timeoutMs;
    const clean = {
      ...DEFAULT_LIMITS,
      children: availableParallelism(),
      promptMs: timeoutMs,
      ...limits,
      filesPerChild: 1,
    };
    const reports = await reportAll({ importFolder, root, limits: clean }, paths);
    const known = new Set(paths);
    const rest = names(others).filter((path) => !known.has(path));
    const quick = { ...DEFAULT_LIMITS, children: availableParallelism(), ...limits };
    const taken = rest.length === 0 ? [] : await reportAll({ importFolder, root, limits: quick }, rest);
    return withConflicts(root, reports, taken, nameOf);
  });
}

interface Place {
  readonly importFolder: string;
  readonly root: string;
  readonly limits: ImportLimits;
}

async function reportAll(
  { importFolder, root, limits }: Place,
  paths: readonly string[],
): Promise<FileReport[]> {
  const importer = new Importer(importFolder, limits, root);
  const around = { folder: root, importFolder, importer, lockHash: lockHashOf(root) };
  try {
    const reports = new Map<string, FileReport>();
    await inParallel(paths, 8, async (path) => void reports.set(path, await report(around, path)));
    return paths.map((path) => reports.get(path)!);
  } finally {
    await importer.stop();
  }
}

async function report(around: Surroundings, path: string): Promise<FileReport> {
  const { bundle, finding: failed } = await bundleOne(around.folder, path);
  let examined: Examined =
    bundle === null
      ? { kind: "found", finding: failed! }
      : await importOne(around, path, bundle, null, new AbortController().signal);
  if (examined.kind === "slow") examined = await examined.rest;
  if (examined.kind !== "found") throw new Error(`${path}: the check was stopped`);
  const { finding } = examined;
  const { durationMs } = finding;
  if (finding.kind === "failed") return { path, graphs: [], error: finding.error, durationMs };
  return { path, graphs: finding.dags.map((dag) => dag.graph), error: null, durationMs };
}

function withConflicts(
  root: string,
  reports: readonly FileReport[],
  others: readonly FileReport[],
  nameOf: (path: string) => string,
): readonly FileReport[] {
  const claims = new Claims();
  const idsOf = ({ graphs }: FileReport) => graphs.map((graph) => graph.dagId);
  for (const one of [...reports, ...others]) claims.add(one.path, idsOf(one));
  const conflictOf = (one: FileReport) => {
    const shared = claims.sharedOf(idsOf(one));
    const lineOf = (id: string) => lineOfId(resolve(root, one.path), id);
    return shared === null ? null : duplicateError(shared.dagId, shared.files.map(nameOf), lineOf);
  };
  return reports.map((one) => ({ ...one, error: one.error ?? conflictOf(one) }));
}

/**
 * The DAGs of a file with their bodies, imported into this very process: for a run of a DAG without servers.
 * Throws DefinitionError when it does not bundle, and whatever the file throws.
 */
export async function loadDags(file: string, home: string): Promise<readonly Dag[]> {
  const path = realpathSync(file);
  const folder = dirname(path);
  const bundled = await bundleFile(folder, path);
  if (bundled.kind === "failed") {
    const { error } = bundled;
    const message = `${placeOf(nameIn(folder, path), error)}: ${error.message}`;
    throw new DefinitionError(error.code, message, { details: { ...error } });
  }
  const { hash, code, map } = bundled.bundle;
  return await withImportFolder(home, async (importFolder) => {
    // In the code itself: a debugger reads it when the folder is gone already.
    const inline = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(rooted(map, folder)).toString("base64")}`;
    const module = await writeBundle(importFolder, hash, `${code}\n${inline}\n`, null);
    return await collect(() => import(pathToFileURL(module).href)).catch((error: unknown) => {
      if (error instanceof Error) Reflect.set(error, "message", withoutFolder(error.message, importFolder));
      throw error;
    });
  });
}

async function withImportFolder<T>(home: string, body: (folder: string) => Promise<T>): Promise<T> {
  const folder = makeImportFolder(home);
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
