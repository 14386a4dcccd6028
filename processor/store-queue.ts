import type pg from "pg";
import type { FileError } from "./types.ts";
import { type Finding, type LineOf, type Stored, storeFindings } from "./store.ts";

/** Files in one transaction: some ten milliseconds. */
const BATCH = 20;

/** `same`: what was stored before stays, `dropped`: it is of no use any more. */
export type Kept = "stored" | "same" | "dropped";

interface Waiting {
  readonly finding: Finding;
  readonly leaving: ReadonlySet<string>;
  /** False once the file has changed again: then this finding is dropped. */
  isCurrent(): boolean;
  resolve(kept: Kept): void;
  reject(error: unknown): void;
}

/** Stores findings in the order they come in; those that come while a transaction is under way share the next one. */
export class StoreQueue {
  #pool: pg.Pool;
  #after: (stored: Stored) => void;
  #lineOf: LineOf;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(pool: pg.Pool, after: (stored: Stored) => void, lineOf: LineOf) {
    this.#pool = pool;
    this.#after = after;
    this.#lineOf = lineOf;
  }

  add(finding: Finding, leaving: ReadonlySet<string>, isCurrent: () => boolean): Promise<Kept> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ finding, leaving, isCurrent, resolve, reject });
      this.#running ??= this.#drain().finally(() => (this.#running = undefined));
    });
  }

  /** Once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #drain(): Promise<void> {
    // One turn later, so that what is added at the same moment shares the first transaction.
    await Promise.resolve();
    for (let batch = this.#queue.splice(0, BATCH); batch.length > 0; batch = this.#queue.splice(0, BATCH)) {
      const current = batch.filter((item) => item.isCurrent());
      for (const item of batch) if (!current.includes(item)) item.resolve("dropped");
      try {
        if (current.length > 0) await this.#store(current);
      } catch {
        // One of them cannot be stored: it must not keep the others out.
        for (const item of current) await this.#storeAlone(item);
      }
    }
  }

  async #store(items: readonly Waiting[]): Promise<void> {
    const leaving = new Set(items.flatMap((item) => [...item.leaving]));
    const stored = await storeFindings(
      this.#pool,
      items.map((item) => item.finding),
      [],
      leaving,
      this.#lineOf,
    );
    for (const item of items) item.resolve(stored.same.has(item.finding.path) ? "same" : "stored");
    this.#after(stored);
  }

  async #storeAlone(item: Waiting): Promise<void> {
    try {
      await this.#store([item]);
    } catch (error) {
      if (!isDataError(error)) return item.reject(error);
      const { path, durationMs } = item.finding;
      const reason: FileError = {
        code: "not_storable",
        message: `PostgreSQL refuses what the file defines: ${(error as Error).message}`,
      };
      try {
        await this.#store([{ ...item, finding: { kind: "failed", path, durationMs, error: reason } }]);
      } catch (again) {
        item.reject(again);
      }
    }
  }
}

/** Class 22 of PostgreSQL's codes: the value itself is refused, trying again cannot help. */
const isDataError = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code?.startsWith("22") === true;
