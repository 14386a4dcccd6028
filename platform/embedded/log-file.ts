import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const ROTATE_BYTES = 20 * 1024 * 1024;
const TAIL_BYTES = 8 * 1024;

/** Opens a server's log for appending; one too large is put aside first, so at most two are kept. */
export function openLog(path: string, rotateBytes = ROTATE_BYTES): number {
  mkdirSync(dirname(path), { recursive: true });
  if (sizeOf(path) > rotateBytes) renameSync(path, `${path}.old`);
  return openSync(path, "a", 0o600);
}

/** Its size now: what is written later begins here. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The end of what was written since `from`, at most a few kB. */
export function tailOf(path: string, from = 0): string {
  const size = sizeOf(path);
  const start = Math.max(size < from ? 0 : from, size - TAIL_BYTES);
  const buffer = Buffer.alloc(Math.max(0, size - start));
  const file = openSync(path, "r");
  try {
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, start));
  } finally {
    closeSync(file);
  }
}

/** The last lines in one, for an error message. */
export function lastLines(text: string): string {
  const lines = text.trim().split("\n");
  return lines.slice(-3).join(" | ").slice(-600);
}
