import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const DAY_MS = 86_400_000;

/**
 * A folder of this process's own below the data folder, where bundles lie while they are imported. Removes what
 * processes that were killed left behind.
 */
export function makeImportFolder(home: string): string {
  mkdirSync(home, { recursive: true });
  const parent = join(realpathSync(home), "import");
  for (const name of existsSync(parent) ? readdirSync(parent) : []) {
    const old = join(parent, name);
    const age = Date.now() - (statSync(old, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    // Whoever still uses it makes it anew with its next child or bundle.
    if (age > DAY_MS) rmSync(old, { recursive: true, force: true });
  }
  return join(parent, randomUUID());
}
