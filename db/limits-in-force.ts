import { NO_LIMITS, type LimitsFile } from "../core/limits-file.ts";
import type { Db } from "./connection.ts";
import { readLimits } from "./limits.ts";

export interface LimitsInForce {
  /** It grows with each file that is applied. */
  readonly id: number;
  readonly file: LimitsFile;
}

/** So long a process goes by what it has read: a file is in force everywhere after twice as long. */
const KEPT_MS = 2_000;

/** Reads the limits file in force, at most once in a while. */
export class LimitsReader {
  readonly #db: Db;
  readonly #keptMs: number;
  #known: LimitsInForce | null | undefined;
  #readAt = -Infinity;
  #reading: Promise<LimitsInForce | null> | null = null;

  constructor(db: Db, keptMs = KEPT_MS) {
    this.#db = db;
    this.#keptMs = keptMs;
  }

  /** Null: none was ever applied. Throws when the database is away. */
  async current(): Promise<LimitsInForce | null> {
    if (this.#known !== undefined && performance.now() - this.#readAt < this.#keptMs) return this.#known;
    return await (this.#reading ??= this.#read());
  }

  /** As it was last read, and read anew behind the caller's back: the database may be away. */
  async soon(): Promise<LimitsInForce | null> {
    if (this.#known === undefined) return await this.current();
    this.current().catch(() => undefined);
    return this.#known;
  }

  async #read(): Promise<LimitsInForce | null> {
    try {
      const limits = await limitsInForce(this.#db);
      // The same object as long as it is the same file.
      if (this.#known === undefined || limits?.id !== this.#known?.id) this.#known = limits;
      this.#readAt = performance.now();
      return this.#known;
    } finally {
      this.#reading = null;
    }
  }
}

async function limitsInForce(db: Db): Promise<LimitsInForce | null> {
  const row = await readLimits(db);
  // One that was applied before there were such parts has none of them.
  return row === null ? null : { id: row.id, file: { ...NO_LIMITS, ...row.spec } };
}
