import { type FSWatcher, watch } from "chokidar";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isLeftOut } from "./scan.ts";

/** Editors write a file in several steps, and a checkout many files: what comes together is handled together. */
const QUIET_MS = 100;
/** A folder that never becomes quiet is looked at nevertheless. */
const AT_MOST_MS = 500;
/** The first pass does not wait longer for the watcher, which may have run out of what the system allows it. */
const READY_MS = 10_000;

export interface Watch {
  /** Also watch these files, which lie outside of the folder. */
  add(paths: readonly string[]): void;
  stop(): Promise<void>;
}

/**
 * Calls back with the absolute paths of files that changed, came or went. Watching can miss changes (network
 * file systems, full queues): a rescan stands behind it.
 */
export async function watchFolder(
  folder: string,
  onChange: (paths: readonly string[]) => void,
  onError: (error: unknown) => void,
): Promise<Watch> {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let firstAt = 0;
  const flush = () => {
    const paths = [...changed];
    changed.clear();
    onChange(paths);
  };
  const note = (path: string) => {
    const now = performance.now();
    if (changed.size === 0) firstAt = now;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(flush, Math.max(0, Math.min(QUIET_MS, firstAt + AT_MOST_MS - now)));
  };

  const watcher: FSWatcher = watch(folder, {
    ignoreInitial: true,
    ignored: (path) => path !== folder && isLeftOut(basename(path)),
  });
  watcher.on("add", note).on("change", note).on("unlink", note).on("error", onError);
  await Promise.race([
    new Promise<void>((resolve) => watcher.once("ready", resolve)),
    sleep(READY_MS, undefined, { ref: false }),
  ]);
  return {
    add: (paths) => void watcher.add([...paths]),
    stop: async () => {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
