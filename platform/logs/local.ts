import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { LogLine } from "../../core/body.ts";
import { formatLine } from "./format.ts";
import { logPath } from "./path.ts";
import { readPart } from "./read.ts";
import type { LogKey, LogPart, LogStore } from "./store.ts";

export interface LocalLogOptions {
  readonly folder: string;
  /** How long a line may wait in memory. Default 100 ms. */
  readonly batchMs?: number;
  /** Text waiting to be written, over all tries, beyond which lines are dropped. Default 64 Mi characters. */
  readonly bufferChars?: number;
  /** Size of one try's log beyond which lines are dropped. Default 256 MiB. */
  readonly tryBytes?: number;
  /** Hears of files that cannot be written. */
  readonly onError?: (error: unknown) => void;
}

/** Files open at once for writing. */
const WRITERS = 8;
/** Then what waits is given up, so that a full disk cannot hold up the end of a try. */
const ATTEMPTS = 3;
const RETRY_MS = 200;

interface Buffered {
  readonly path: string;
  texts: string[];
  chars: number;
  dropped: number;
  /** Resolves when what it held at some time is written or given up. */
  writing: Promise<void> | null;
}

/** Logs as files in a local folder. Files are opened for each batch only, so thousands of tries need few descriptors. */
export function createLocalLogStore(options: LocalLogOptions): LogStore {
  return new LocalLogStore(options);
}

class LocalLogStore implements LogStore {
  readonly #folder: string;
  readonly #batchMs: number;
  readonly #bufferChars: number;
  readonly #tryBytes: number;
  readonly #onError: (error: unknown) => void;
  readonly #buffers = new Map<string, Buffered>();
  /** Tries that this process writes for. */
  readonly #open = new Set<string>();
  readonly #slots = new Slots(WRITERS);
  #chars = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LocalLogOptions) {
    this.#folder = options.folder;
    this.#batchMs = options.batchMs ?? 100;
    this.#bufferChars = options.bufferChars ?? 64 * 1024 * 1024;
    this.#tryBytes = options.tryBytes ?? 256 * 1024 * 1024;
    this.#onError = options.onError ?? (() => undefined);
  }

  append(key: LogKey, lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    const path = logPath(this.#folder, key);
    this.#open.add(path);
    const buffer = this.#bufferOf(path);
    for (const line of lines) {
      if (this.#chars >= this.#bufferChars) {
        buffer.dropped += 1;
        continue;
      }
      const text = formatLine(line);
      buffer.texts.push(text);
      buffer.chars += text.length;
      this.#chars += text.length;
    }
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, this.#batchMs);
  }

  async close(key: LogKey): Promise<void> {
    const path = logPath(this.#folder, key);
    const buffer = this.#buffers.get(path);
    if (buffer !== undefined) await this.#written(buffer);
    this.#open.delete(path);
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#buffers.values()].map((buffer) => this.#written(buffer)));
  }

  async read(key: LogKey, offset: number): Promise<LogPart> {
    const path = logPath(this.#folder, key);
    const buffer = this.#buffers.get(path);
    if (buffer !== undefined) await this.#written(buffer);
    return readPart(path, offset, this.#open.has(path));
  }

  #bufferOf(path: string): Buffered {
    let buffer = this.#buffers.get(path);
    if (buffer === undefined) {
      buffer = { path, texts: [], chars: 0, dropped: 0, writing: null };
      this.#buffers.set(path, buffer);
    }
    return buffer;
  }

  /** All that the buffer holds now is written: one write at a time for each file, in order. */
  async #written(buffer: Buffered): Promise<void> {
    // A write that has begun does not hold what came since.
    if (buffer.writing !== null) await buffer.writing;
    if (buffer.texts.length === 0 && buffer.dropped === 0 && buffer.writing === null) return;
    buffer.writing ??= this.#write(buffer);
    await buffer.writing;
  }

  async #write(buffer: Buffered): Promise<void> {
    await this.#slots.take();
    const { texts, chars, dropped } = buffer;
    if (dropped > 0)
      texts.push(note(`${dropped} lines are missing here: they came faster than they could be written`));
    Object.assign(buffer, { texts: [], chars: 0, dropped: 0 });
    try {
      await this.#append(buffer.path, texts.join(""));
    } finally {
      this.#slots.release();
      this.#chars -= chars;
      buffer.writing = null;
      if (buffer.texts.length === 0 && buffer.dropped === 0) this.#buffers.delete(buffer.path);
    }
  }

  /** Never throws. */
  async #append(path: string, text: string): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        return await appendText(path, text, this.#tryBytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") await makeFolder(path, this.#onError);
        else {
          this.#onError(error);
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    }
  }
}

async function makeFolder(path: string, onError: (error: unknown) => void): Promise<void> {
  await mkdir(dirname(path), { recursive: true }).catch(onError);
}

async function appendText(path: string, text: string, tryBytes: number): Promise<void> {
  const file = await open(path, "a+");
  try {
    const { size } = await file.stat();
    if (size >= tryBytes) return;
    const begin = size > 0 && (await lastByte(file, size)) !== 0x0a ? "\n" : "";
    const bytes = Buffer.from(begin + text);
    await file.appendFile(bytes);
    if (size + bytes.length >= tryBytes)
      await file.appendFile(note("the log is full: what follows is dropped"));
  } finally {
    await file.close();
  }
}

/** The last byte tells whether a writer died in the middle of a line. */
async function lastByte(file: Awaited<ReturnType<typeof open>>, size: number): Promise<number | undefined> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}

const note = (text: string): string => formatLine({ at: Date.now(), level: "warn", text });

/** At most so many at once; the rest wait their turn. */
class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
