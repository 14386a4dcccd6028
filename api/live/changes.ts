import type { Cell, Run } from "../contracts.ts";

/** A moment of the database: the oldest transaction under way, and the first not yet begun. */
export interface Point {
  readonly xmin: bigint;
  readonly xmax: bigint;
}

/** Whether all that had happened at `a` had certainly happened at `b`. Holds over several processes. */
export function isPast(a: Point, b: Point): boolean {
  if (a.xmin === b.xmin && a.xmax === b.xmax) return a.xmin === a.xmax;
  return a.xmin <= b.xmin && a.xmax <= b.xmax;
}

export const idOf = ({ xmin, xmax }: Point): string => `${xmin}-${xmax}`;

/** The inverse of `idOf`; null when the text is no such id. */
export function pointOf(id: string): Point | null {
  const m = /^(\d{1,19})-(\d{1,19})$/.exec(id);
  return m === null ? null : { xmin: BigInt(m[1]!), xmax: BigInt(m[2]!) };
}

/** What one look at the database found. */
export interface Batch {
  readonly to: Point;
  readonly runs: readonly { readonly run: number; readonly shown: Run }[];
  readonly cells: readonly CellsOfRun[];
  readonly dags: readonly string[];
  /** The emergency dial was turned. */
  readonly dial: boolean;
}

export interface CellsOfRun {
  readonly run: number;
  readonly dagId: string;
  readonly runId: string;
  readonly cells: readonly Cell[];
}

export const sizeOf = (batch: Batch): number =>
  batch.runs.length +
  batch.dags.length +
  Number(batch.dial) +
  batch.cells.reduce((sum, one) => sum + one.cells.length, 0);

/** Batches of the last while, for who comes back; the oldest go first. */
export class Recent {
  readonly #most: number;
  readonly #keptMs: number;
  /** What happened after it is here. */
  #since: Point;
  #batches: { readonly batch: Batch; readonly at: number }[] = [];
  #size = 0;

  constructor(since: Point, most: number, keptMs: number) {
    this.#since = since;
    this.#most = most;
    this.#keptMs = keptMs;
  }

  add(batch: Batch, at: number): void {
    this.#batches.push({ batch, at });
    this.#size += sizeOf(batch);
    for (let oldest = this.#batches[0]; oldest !== undefined; oldest = this.#batches[0]) {
      if (this.#size <= this.#most && oldest.at >= at - this.#keptMs) break;
      this.#batches.shift();
      this.#size -= sizeOf(oldest.batch);
      this.#since = oldest.batch.to;
    }
  }

  /** All that may have happened after `point`; null when some of it is kept no more. */
  after(point: Point): Batch[] | null {
    if (!isPast(this.#since, point)) return null;
    return this.#batches.map(({ batch }) => batch).filter(({ to }) => !isPast(to, point));
  }
}

/** Entries of `Told`; past that, rows may be told twice. About 30 MB. */
const MOST_TOLD = 200_000;

/**
 * Which rows were told as which transaction left them. While an old transaction is under way, each look finds again
 * whatever is younger than that.
 */
export class Told {
  readonly #told = new Map<string, number>();

  isNew(key: string, xid: number): boolean {
    if (this.#told.get(key) === xid) return false;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(key, xid);
    return true;
  }

  /** No look will find what older transactions wrote. */
  forgetBefore(cursor: bigint): void {
    const low = Number(BigInt.asUintN(32, cursor));
    // The difference in 32 bits with a sign: true over the wrap.
    for (const [key, xid] of this.#told) if (((xid - low) | 0) < 0) this.#told.delete(key);
  }
}
