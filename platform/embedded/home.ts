import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
} from "node:fs";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Refused } from "../../core/errors.ts";
import { isLockFile, takeLock } from "./lock.ts";
import { livePostmaster } from "./postgres-data.ts";
import { type ProcessId, endProcess, isAlive } from "./process.ts";

/** The parts that run as processes of their own. */
export type Part = "postgres" | "temporal";

/** What the next start must know to adopt or end a process that outlived us. */
export interface PartRecord extends ProcessId {
  readonly port: number;
  readonly uiPort?: number;
  /** Where its data lie; a record in a copied folder proves nothing about the copy. */
  readonly data: string;
}

/** A data folder held by this process. */
export interface Home {
  readonly folder: string;
  path(...parts: string[]): string;
  /** The recorded process if it still lives and serves this very folder. */
  left(part: Part): PartRecord | null;
  record(part: Part, record: PartRecord): void;
  forget(part: Part): void;
  announce(page: string): void;
  release(): void;
}

/** Stop signals that roll back what is open and keep the data whole. */
const STOP = { postgres: "SIGINT", temporal: "SIGINT" } as const satisfies Record<Part, NodeJS.Signals>;
const STOP_GRACE_MS = 15_000;
/** Its presence says that a folder holds data of Meridian. */
export const MARKER = "meridian.json";
/** A folder of this name was made for us, whoever made it. */
const OWN_NAME = ".meridian";
const OWN_ENTRIES = /^(logs|postgres|temporal\.db.*|.*\.pid\.json)$/;

/** Makes the folder if need be and takes its lock. */
export function openHome(wanted: string): Home {
  const folder = makeFolder(resolve(wanted));
  const lock = takeLock(folder);
  mark(folder);
  return {
    folder,
    path: (...parts) => join(folder, ...parts),
    left: (part) => leftIn(folder, part),
    record: (part, record) => writeWhole(recordPath(folder, part), JSON.stringify(record)),
    forget: (part) => rmSync(recordPath(folder, part), { force: true }),
    announce: (page) => lock.announce(page),
    release: () => lock.release(),
  };
}

/** What a killed start left running in this folder, if the folder is there at all. */
export function leftIn(wanted: string, part: Part): PartRecord | null {
  if (!existsSync(wanted)) return null;
  const folder = realpathSync(wanted);
  return readLive(folder, part) ?? (part === "postgres" ? unrecordedPostgres(folder) : null);
}

/**
 * Ends what a killed start left running, then removes all that Meridian keeps there; answers the names of what it
 * removed. Refused while live.
 */
export async function reset(wanted: string): Promise<readonly string[]> {
  const folder = resolve(wanted);
  if (!existsSync(folder)) return [];
  const found = foundAtFirst(folder);
  if (found === null) {
    if (readdirSync(folder).length === 0) return [];
    throw new Refused(
      "not_a_home",
      `reset: ${folder} holds no Meridian data (no ${MARKER}); set MERIDIAN_HOME to the right folder, or remove it by hand`,
    );
  }
  const home = openHome(folder);
  try {
    await Promise.all((["temporal", "postgres"] as const).map((part) => endLeft(home, part)));
    const removed = readdirSync(home.folder).filter((name) => !isLockFile(name) && !found.includes(name));
    for (const name of removed) rmSync(home.path(name), { recursive: true, force: true, maxRetries: 3 });
    return removed;
  } finally {
    home.release();
  }
}

/** Ends the recorded process of a part, if it is proven ours. */
export async function endLeft(home: Home, part: Part): Promise<void> {
  const left = home.left(part);
  if (left !== null) {
    await endProcess(left, { signal: STOP[part], graceMs: STOP_GRACE_MS, group: part === "temporal" });
  }
  home.forget(part);
}

/** What a second process may know of a running one: the record of a part, if it lives. */
export function readLive(folder: string, part: Part): PartRecord | null {
  try {
    const record = JSON.parse(readFileSync(recordPath(folder, part), "utf8")) as PartRecord;
    return isAlive(record) && record.data === dataPath(folder, part) ? record : null;
  } catch {
    return null;
  }
}

/** Where a part keeps its data. */
export function dataPath(folder: string, part: Part): string {
  return part === "postgres" ? join(folder, "postgres", "data") : join(folder, "temporal.db");
}

function unrecordedPostgres(folder: string): PartRecord | null {
  const data = dataPath(folder, "postgres");
  const found = livePostmaster(data);
  return found === null ? null : { ...found, data };
}

function recordPath(folder: string, part: Part): string {
  return join(folder, `${part}.pid.json`);
}

function makeFolder(folder: string): string {
  try {
    // Only root off Linux needs others to pass through: see `pathForServer`.
    const open = process.getuid?.() === 0 && process.platform !== "linux";
    mkdirSync(folder, { recursive: true, mode: open ? 0o755 : 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    // An earlier start as root leaves entries that only root can write.
    for (const name of readdirSync(folder)) {
      if (OWN_ENTRIES.test(name)) accessSync(join(folder, name), constants.W_OK);
    }
    return realpathSync(folder);
  } catch (cause) {
    throw new Refused(
      "home_not_writable",
      `data folder ${folder} cannot be written (${(cause as Error).message}); make it yours with all that is in it, or set MERIDIAN_HOME to a folder you can write`,
      { cause },
    );
  }
}

/** Remembers what was in the folder before us, so that a reset of a wrongly given folder spares it. */
function mark(folder: string): void {
  const path = join(folder, MARKER);
  if (existsSync(path)) return;
  const found = basename(folder) === OWN_NAME ? [] : readdirSync(folder).filter((name) => !isLockFile(name));
  writeWhole(path, `${JSON.stringify({ about: "data folder of Meridian", found })}\n`);
}

function foundAtFirst(folder: string): readonly string[] | null {
  try {
    return (JSON.parse(readFileSync(join(folder, MARKER), "utf8")) as { found: string[] }).found;
  } catch {
    return basename(folder) === OWN_NAME ? [] : null;
  }
}

function writeWhole(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}
