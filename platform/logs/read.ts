import { open, type FileHandle } from "node:fs/promises";
import { parseLines, wholeEntries } from "./format.ts";
import type { LogPart } from "./store.ts";

/** What one read returns, unless a single entry is longer. */
const PART_BYTES = 1024 * 1024;
/** Longest entry as bytes: 8 Mi characters of up to three bytes each, and its indents. */
const MOST_BYTES = 32 * 1024 * 1024;
/** An unfinished entry that nobody has gone on with for so long was left by a writer that died. */
const LEFT_MS = 5_000;

/** A part of a log file from `offset` on; never half an entry, and so never half a character (K67). */
export async function readPart(path: string, offset: number, mayGrow: boolean): Promise<LogPart> {
  const file = await openIfThere(path);
  if (file === null) return { lines: [], nextOffset: 0, done: !mayGrow };
  try {
    const { size, mtimeMs } = await file.stat();
    const from = Math.min(Math.max(0, Math.trunc(offset) || 0), size);
    const left = !mayGrow && Date.now() - mtimeMs > LEFT_MS;
    for (let limit = PART_BYTES; ; limit = Math.min(limit * 4, MOST_BYTES)) {
      const bytes = await readBytes(file, from, Math.min(limit, size - from));
      const atEnd = from + bytes.length >= size;
      const end = wholeEntries(bytes, atEnd && left);
      if (end === 0 && !atEnd && limit < MOST_BYTES) continue;
      const taken = end === 0 && !atEnd ? bytes.length - brokenTail(bytes) : end;
      const nextOffset = from + taken;
      return {
        lines: parseLines(bytes.subarray(0, taken)),
        nextOffset,
        done: !mayGrow && nextOffset >= size,
      };
    }
  } finally {
    await file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function readBytes(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let have = 0;
  while (have < length) {
    const { bytesRead } = await file.read(bytes, have, length - have, from + have);
    if (bytesRead === 0) break;
    have += bytesRead;
  }
  return bytes.subarray(0, have);
}

/** How many bytes at the end begin a character that is not whole. */
function brokenTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}
