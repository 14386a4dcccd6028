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
  return (
    numbers(folder)
      .map((number) => liveHolder(folder, number))
      .find((holder) => holder !== null) ?? null
  );
}

/**
 * Takes the folder for this process, or refuses in one line.
 *
 * Lock files are numbered. A holder that is gone is followed by creating the next number, which the
 * file system gives to one taker only; and who finds another live file after making its own yields.
 * Files of the dead are removed by the holder alone, so nobody removes what another just made.
 */
export function takeLock(folder: string): Lock {
  mkdirSync(folder, { recursive: true });
  const own = ownProcessId();
  for (;;) {
    const holder = lockHolder(folder);
    if (holder !== null) throw alreadyRunning(folder, holder);
    const number = Math.max(0, ...numbers(folder)) + 1;
    const path = join(folder, `lock.${number}.json`);
    if (!createWhole(path, { ...own, page: null })) continue;
    const others = numbers(folder).filter((other) => other !== number);
    if (others.some((other) => other > number || liveHolder(folder, other) !== null)) {
      rmSync(path, { force: true });
      continue;
    }
    for (const other of others) rmSync(join(folder, `lock.${other}.json`), { force: true });
    return {
      announce: (page) => replace(path, { ...own, page }),
      release: () => rmSync(path, { force: true }),
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

function numbers(folder: string): number[] {
  try {
    return readdirSync(folder)
      .flatMap((name) => NAME.exec(name)?.[1] ?? [])
      .map(Number);
  } catch {
    return [];
  }
}

function liveHolder(folder: string, number: number): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(join(folder, `lock.${number}.json`), "utf8")) as Holder;
    return isAlive(holder) ? holder : null;
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

function replace(path: string, holder: Holder): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(holder));
  renameSync(draft, path);
}
