import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { Refused } from "../core/errors.ts";

const HASH = /^[A-Za-z0-9_-]{1,128}$/;

/** Where a bundle lies once written. */
export function bundlePath(folder: string, hash: string): string {
  if (!HASH.test(hash))
    throw new Refused("bad_bundle_hash", `${JSON.stringify(hash)} is no hash of a bundle`);
  return join(folder, `${hash}.mjs`);
}

/**
 * Writes a bundle and its map, unless they are there, and answers its path. The map comes first and each
 * file by rename, so that no process sees half of one.
 */
export async function writeBundle(
  folder: string,
  hash: string,
  code: string,
  map: string | null,
): Promise<string> {
  const path = bundlePath(folder, hash);
  if (existsSync(path)) return path;
  if (!existsSync(folder)) await mkdir(folder, { recursive: true });
  if (map !== null) await replace(`${path}.map`, map);
  await replace(path, map === null ? code : `${code}\n//# sourceMappingURL=${hash}.mjs.map\n`);
  return path;
}

const MERIDIAN = fileURLToPath(new URL("../", import.meta.url));

/**
 * Bundles resolve `meridian` and npm packages from where they lie. With a data folder outside the project, a link leads
 * there, `home/node_modules`; where `meridian` is no package of the project, one leads to this package. Idempotent.
 */
export function linkPackages(home: string, project: string): void {
  mkdirSync(home, { recursive: true });
  const isInside = (folder: string): boolean =>
    `${realpathSync(home)}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
  const packages = join(project, "node_modules");
  if (!isInside(project) && existsSync(packages)) link(packages, join(home, "node_modules"));
  // Inside this package its name leads to itself.
  if (!existsSync(join(packages, "meridian")) && !isInside(MERIDIAN)) {
    for (const folder of ["code", "import"]) {
      mkdirSync(join(home, folder, "node_modules"), { recursive: true });
      link(MERIDIAN, join(home, folder, "node_modules", "meridian"));
    }
  }
}

function link(target: string, path: string): void {
  try {
    symlinkSync(target, path, "junction");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
