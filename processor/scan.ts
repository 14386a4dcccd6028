import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";

/** Folders never looked into, by the watcher and by the scan alike. */
export const isLeftOut = (name: string): boolean => name === "node_modules" || name.startsWith(".");

const SOURCE = /\.(?:ts|js|mjs)$/;
const NOT_A_DAG = /(?:\.d|\.test)\.(?:ts|js|mjs)$/;

/** Whether a file of this name, relative to the DAG folder, may define DAGs. */
export function mayBeDagFile(path: string): boolean {
  const parts = path.split("/");
  return !parts.some(isLeftOut) && !path.startsWith("../") && SOURCE.test(path) && !NOT_A_DAG.test(path);
}

/** A cheap look before the dear import: whoever defines a DAG calls something that ends in `dag(`. */
export async function mentionsDag(absolute: string): Promise<boolean> {
  try {
    return /dag\s*[(<]/i.test(await readFile(absolute, "utf8"));
  } catch {
    return false;
  }
}

/**
 * Every DAG file below `folder`, relative to it with `/`, in order. A `known` one is not read again to see whether it
 * is one. Throws when the folder cannot be read.
 */
export async function scan(folder: string, known: ReadonlySet<string> = new Set()): Promise<string[]> {
  const found: string[] = [];
  const isDagFile = async (path: string) =>
    mayBeDagFile(path) &&
    (await isFile(join(folder, path))) &&
    (known.has(path) || (await mentionsDag(join(folder, path))));
  await walk(folder, "", isDagFile, found);
  return found.sort();
}

async function walk(
  folder: string,
  below: string,
  isDagFile: (path: string) => Promise<boolean>,
  found: string[],
): Promise<void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (isLeftOut(entry.name)) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) await walk(folder, path, isDagFile, found);
    else if (await isDagFile(path)) found.push(path);
  }
}

/** Links to files count, links to folders do not: they may lead in a circle. */
export async function isFile(absolute: string): Promise<boolean> {
  try {
    return (await stat(absolute)).isFile();
  } catch {
    return false;
  }
}

/**
 * What changes when any of these files does; cheap, for the rescan. Empty when one may have changed since
 * `readAt` (epoch ms): what was read is perhaps not what lies there now.
 */
export async function stampOf(inputs: readonly string[], readAt = Number.POSITIVE_INFINITY): Promise<string> {
  let changed = false;
  const stamps = await Promise.all(
    inputs.map(async (input) => {
      try {
        const { mtimeMs, size, ino } = await stat(input);
        changed ||= mtimeMs >= readAt;
        return `${input}:${mtimeMs}:${size}:${ino}`;
      } catch {
        return `${input}:gone`;
      }
    }),
  );
  return changed ? "" : stamps.join("\n");
}

/**
 * When the newest of these files was last written, renamed or copied to its place (epoch ms). Of a file that is gone
 * nothing is known.
 */
export async function changedAt(inputs: readonly string[]): Promise<number> {
  const times = await Promise.all(
    inputs.map((input) =>
      stat(input).then(
        ({ ctimeMs }) => ctimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...times);
}

/** The path as DAG files are named: relative to the folder, with `/`. */
export const nameIn = (folder: string, absolute: string): string =>
  relative(folder, absolute).replaceAll("\\", "/");
