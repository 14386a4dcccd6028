import { randomUUID } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { StoredValue } from "../core/body.ts";
import { MeridianError, Refused } from "../core/errors.ts";
import type { ObjectStore } from "../platform/objects/store.ts";
import { untilThere } from "./patience.ts";

/** Copies kept for further consumers of the same value: a value may have hundreds. */
const CACHE_BYTES = 1024 ** 3;
const LONGEST_WAIT_MS = 10_000;
/** What a killed worker left: nothing lies here for so long otherwise, unless the store is away for days. */
const LEFTOVER_MS = 7 * 24 * 3_600_000;
const SPOOLED = /^[0-9a-f-]{36}\.json$/;

/** Who waits for the store, and hears about it. */
export interface Waiting {
  readonly signal: AbortSignal;
  /** Told once for each stretch of waiting. */
  readonly note: (text: string) => void;
}

interface Copy {
  readonly path: Promise<string>;
  readonly bytes: number;
  users: number;
}

/** A value of the store as a file of this machine, until `release`. */
export interface Borrowed {
  readonly path: string;
  readonly release: () => void;
}

/**
 * Large outputs on their way between the spool folder of the bodies and the object store. With the store away a try
 * waits, as it does for the database: its output stays in the spool folder, and none of its retries is used.
 */
export class LargeValues {
  readonly #objects: ObjectStore;
  readonly #folder: string;
  /** Least recently borrowed first. */
  readonly #copies = new Map<string, Copy>();

  constructor(objects: ObjectStore, spoolFolder: string) {
    this.#objects = objects;
    this.#folder = spoolFolder;
  }

  /** Takes what a body has left; it is in the store when this resolves. */
  async keep(
    key: string,
    { file, bytes }: { readonly file: string; readonly bytes: number },
    waiting: Waiting,
  ): Promise<StoredValue> {
    // The name comes from where the author's code runs.
    if (!SPOOLED.test(file))
      throw new Refused("bad_spool_file", `${JSON.stringify(file)} is no spooled output`);
    const path = join(this.#folder, file);
    await this.#untilThere(waiting, async () => await this.#objects.take(key, path));
    return { key, bytes };
  }

  async borrow({ key, bytes }: StoredValue, waiting: Waiting): Promise<Borrowed> {
    const { pathOf } = this.#objects;
    if (pathOf !== null) {
      const path = pathOf(key);
      await this.#untilThere(waiting, async () => {
        if (existsSync(path)) return;
        // Says whether it is missing, or the store away.
        (await this.#objects.open(key)).stream.destroy();
      });
      return { path, release: () => undefined };
    }
    for (;;) {
      const known = this.#copies.get(key);
      const copy = known ?? { path: this.#fetch(key, waiting), bytes, users: 0 };
      this.#copies.delete(key);
      this.#copies.set(key, copy);
      copy.users += 1;
      const release = once(() => {
        copy.users -= 1;
        this.#evict();
      });
      try {
        const path = await copy.path;
        if (existsSync(path)) return { path, release };
      } catch (error) {
        // Of another's call the failure may be its own: that try was stopped.
        if (known === undefined || waiting.signal.aborted) throw error;
      } finally {
        if (!(await isFile(copy.path))) {
          if (this.#copies.get(key) === copy) this.#copies.delete(key);
          release();
        }
      }
    }
  }

  /** What an earlier worker process left behind when it was killed. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const path of names.map((name) => join(this.#folder, name))) {
      const found = await stat(path).catch(() => null);
      if (found !== null && Date.now() - found.mtimeMs > LEFTOVER_MS) await rm(path, { force: true });
    }
  }

  /** At the end of the worker: nobody else knows of its copies. */
  async close(): Promise<void> {
    const copies = [...this.#copies.values()];
    this.#copies.clear();
    for (const { path } of copies)
      await path.then(
        (file) => rm(file, { force: true }),
        () => undefined,
      );
  }

  async #fetch(key: string, waiting: Waiting): Promise<string> {
    const path = join(this.#folder, `copy-${randomUUID()}.json`);
    try {
      await mkdir(this.#folder, { recursive: true });
      await this.#untilThere(waiting, async () => {
        const { stream } = await this.#objects.open(key);
        await pipeline(stream, createWriteStream(path));
      });
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  #evict(): void {
    let bytes = 0;
    for (const copy of this.#copies.values()) bytes += copy.bytes;
    for (const [key, copy] of this.#copies) {
      if (bytes <= CACHE_BYTES) return;
      if (copy.users > 0) continue;
      bytes -= copy.bytes;
      this.#copies.delete(key);
      void copy.path.then((path) => rm(path, { force: true })).catch(() => undefined);
    }
  }

  async #untilThere<T>({ signal, note }: Waiting, call: () => Promise<T>): Promise<T> {
    let told = false;
    return await untilThere(signal, call, {
      isAway,
      longestWaitMs: LONGEST_WAIT_MS,
      onAway: (error) => {
        if (told) return;
        told = true;
        note(`${(error as Error).message}: it is asked again until it does`);
      },
    });
  }
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

const isFile = async (path: Promise<string>): Promise<boolean> => await path.then(existsSync, () => false);

/** Only that something is not there is an answer. A copy that broke off on its way is none, nor is a full disk. */
const isAway = (error: unknown): boolean => !(error instanceof MeridianError) || error.kind === "retryable";
