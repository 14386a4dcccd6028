import { stat } from "node:fs/promises";
import { relative } from "node:path";

/** Folders never looked into, by the watcher and by the scan alike. */
export const isLeftOut = (name: string): boolean => name === "node_modules" || name.startsWith(".");

const MODULE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const DAG_FILE = /(?<!\.d|\.test)\.(?:ts|js|mjs)$/;

const isLookedAt = (path: string): boolean => !path.startsWith("../") && !path.split("/").some(isLeftOut);

/** Whether a file of this name, relative to the DAG folder, may be imported by one that defines DAGs. */
export const isModule = (path: string): boolean => MODULE.test(path) && isLookedAt(path);

/** Whether a file of this name, relative to the DAG folder, may define DAGs. */
export const mayBeDagFile = (path: string): boolean => DAG_FILE.test(path) && isLookedAt(path);

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
