import { linkSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Refused } from "../../core/errors.ts";
import { type ProcessId, isAlive, ownProcessId } from "./process.ts";

/** Who holds a data folder. */
export interface Holder extends ProcessId {
  /** Address of the page, once it is known. */
  readonly page: string | null;
}

export interface Lock {
  /** Makes the page's address known to a second start. */
  announce(page: string): void;
  release(): void;
}

const NAME = /^lock\.(\d+)\.json$/;

/** Whether a name inside the folder belongs to the lock. */
export function isLockFile(name: string): boolean {
  return NAME.test(name);
}

/** The live holder, if there is one. */
export function lockHolder(folder: string): Holder | null {
  const holder = readHolder(folder, latest(folder));
  return holder !== null && isAlive(holder) ? holder : null;
}

/**
 * Takes the folder for this process, or refuses in one line.
 *
 * Lock files are numbered and a number is never used twice: a holder that is gone is followed by
 * creating the next number, which the file system gives to one taker only. So there is no moment
 * at which one taker removes what another just made. A released lock stays, marked free.
 */
export function takeLock(folder: string): Lock {
  mkdirSync(folder, { recursive: true });
  const own = ownProcessId();
  for (;;) {
    const number = latest(folder);
    const holder = readHolder(folder, number);
    if (holder !== null && isAlive(holder)) throw alreadyRunning(folder, holder);
    const next = join(folder, `lock.${number + 1}.json`);
    if (!createWhole(next, { ...own, page: null })) continue;
    // A listing taken while another swaps its files may have missed both: who sees a higher number yields.
    if (latest(folder) > number + 1) {
      rmSync(next, { force: true });
      continue;
    }
    removeOlder(folder, number + 1);
    return {
      announce: (page) => replace(next, { ...own, page }),
      release: () => replace(next, null),
    };
  }
}

function alreadyRunning(folder: string, holder: Holder): Refused {
  const page = holder.page === null ? "" : `, page ${holder.page}`;
  return new Refused(
    "already_running",
    `Meridian is already running from ${folder} (pid ${holder.pid}${page}); stop it or set MERIDIAN_HOME to another folder`,
    { details: { pid: holder.pid, page: holder.page } },
  );
}

function latest(folder: string): number {
  return Math.max(0, ...numbers(folder));
}

function numbers(folder: string): number[] {
  try {
    return readdirSync(folder)
      .flatMap((name) => NAME.exec(name)?.[1] ?? [])
      .map(Number);
  } catch {
    return [];
  }
}

function readHolder(folder: string, number: number): Holder | null {
  try {
    return JSON.parse(readFileSync(join(folder, `lock.${number}.json`), "utf8")) as Holder | null;
  } catch {
    return null;
  }
}

/** A link either appears with all of its text or not at all. False when the number is taken. */
function createWhole(path: string, holder: Holder): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(holder));
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    // A file system without hard links: still exclusive, whole a moment later.
    return createExclusive(path, holder);
  } finally {
    rmSync(draft, { force: true });
  }
}

function createExclusive(path: string, holder: Holder): boolean {
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function replace(path: string, holder: Holder | null): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(holder));
  renameSync(draft, path);
}

function removeOlder(folder: string, number: number): void {
  for (const old of numbers(folder)) {
    if (old < number) rmSync(join(folder, `lock.${old}.json`), { force: true });
  }
}
