import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Dag } from "../authoring/collect.ts";
import { DefinitionError, MeridianError, NotFound } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { linkPackages } from "../platform/code-folder.ts";
import type { Config } from "../platform/config.ts";
import { scan } from "../processor/dag-files.ts";
import { loadDags } from "../processor/validate.ts";

/**
 * The DAG meant by a file, or by an id in the DAG folder, with its bodies: imported into this very process, so that a
 * debugger stops in it. `dagId` names one of several in the file.
 */
export async function loadDag(config: Config, fileOrId: string, dagId?: string): Promise<Dag> {
  if (!isFile(fileOrId)) return await findDag(config, fileOrId);
  const dags = await load(config, fileOrId);
  const ids = dags.map((dag) => dag.graph.dagId);
  const dag = dagId === undefined && dags.length === 1 ? dags[0] : dags.find(({ id }) => id === dagId);
  if (dag !== undefined) return dag;
  throw new NotFound(
    "no_dag",
    dagId === undefined
      ? `${fileOrId} has ${ids.length} DAGs: name one of ${ids.join(", ")} with --dag`
      : `${fileOrId} has no dag "${dagId}"${didYouMean(dagId, ids)}; it has ${ids.join(", ")}`,
  );
}

/** Files that have the id as a text come first: only ids made by the code need all of them. */
async function findDag(config: Config, dagId: string): Promise<Dag> {
  const folder = resolve(config.dags);
  if (/[\\/]|\.[cm]?[jt]s$/.test(dagId) || !existsSync(folder)) {
    throw new NotFound("no_file", `there is no file ${dagId}; expected a DAG file such as dags/hello.ts`);
  }
  const files = (await scan(folder)).map((path) => join(folder, path));
  const names = (file: string): boolean => readFileSync(file, "utf8").includes(dagId);
  const ids: string[] = [];
  for (const file of [...files.filter(names), ...files.filter((one) => !names(one))]) {
    const dags = await load(config, file).catch((error: unknown) => {
      if (names(file)) throw error;
      return [];
    });
    const dag = dags.find(({ id }) => id === dagId);
    if (dag !== undefined) return dag;
    ids.push(...dags.map(({ id }) => id));
  }
  throw new NotFound(
    "no_dag",
    `there is no file ${dagId}, and no DAG of this id in ${folder}${didYouMean(dagId, ids)}`,
  );
}

async function load(config: Config, file: string): Promise<readonly Dag[]> {
  const project = projectOf(file);
  const home = config.env["MERIDIAN_HOME"] === undefined ? join(project, ".meridian") : resolve(config.home);
  linkPackages(home, project);
  try {
    return await loadDags(file, home);
  } catch (error) {
    throw error instanceof MeridianError ? error : importError(file, error);
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The nearest folder above a file that has packages, else the present one. */
export function projectOf(file: string): string {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules"))) return folder;
    if (folder === dirname(folder)) return process.cwd();
  }
}

/** The author's own error at import: its message and the lines of the author's files, without our part of the stack. */
function importError(file: string, error: unknown): DefinitionError {
  const { stack, message = String(error) } = error as Partial<Error>;
  const text = ownFrames({ message, ...(stack === undefined ? {} : { stack }) });
  return new DefinitionError("import_error", `${file} could not be imported: ${text}`);
}

const OURS = ["authoring", "cli", "core", "platform", "processor"].map((name) =>
  fileURLToPath(new URL(`../${name}/`, import.meta.url)),
);
const FRAME = /^(\s+at .*?\(?)((?:file:\/\/)?\/?[^\s()]+)(:\d+:\d+\)?)$/;

/** An error as text with the frames of the author's files alone, named as from here. */
export function ownFrames({ stack, message }: { readonly stack?: string; readonly message: string }): string {
  const here = `${realpathSync(process.cwd())}${sep}`;
  return (stack ?? message)
    .split("\n")
    .flatMap((line) => {
      if (!/^\s+at /.test(line)) return [line];
      const [, before = "", place = "", after = ""] = FRAME.exec(line) ?? [];
      const path = place.startsWith("file:") ? fileURLToPath(place) : place;
      const isForeign =
        !path.includes(sep) || path.startsWith("node:") || path.includes(`${sep}node_modules${sep}`);
      if (isForeign || OURS.some((folder) => path.startsWith(folder))) return [];
      return [`${before}${path.startsWith(here) ? relative(here, path) : path}${after}`];
    })
    .join("\n");
}
