/** One builder at a time, among processes of one machine. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A build takes seconds; a lock this old was left, though another process may have its holder's number now. */
const STALE_MS = 60_000;

/** Waits until `path` is this process's, and answers what gives it back. One that a killed process left holds nobody up. */
export async function lockFile(path: string): Promise<() => void> {
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isLeft(path)) rmSync(path, { force: true });
    else await sleep(100);
  }
}

function isLeft(path: string): boolean {
  const heldSince = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  if (Date.now() - heldSince > STALE_MS) return true;
  try {
    const holder = Number(readFileSync(path, "utf8"));
    // Empty for a moment while it is made.
    if (holder > 0) process.kill(holder, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
