import type pg from "pg";
import { recordTries, type EndedRow, type StartedRow } from "../db/tries.ts";

type Item = { kind: "started"; row: StartedRow } | { kind: "ended"; row: EndedRow };
interface Entry {
  readonly item: Item;
  readonly resolve: (inputs: Record<string, unknown>) => void;
}

const LIMIT = 500;
/** A start without inputs may wait so long for company: a short body's start and end then go in one statement. */
const START_WINDOW_MS = 10;
const RETRY_MS = [100, 200, 500, 1000, 2000];

/**
 * The group-commit buffer of a worker: all tries that start or end while a statement is under way go into the next
 * one. With the database away it keeps what it has and tries again; nothing is dropped.
 */
export class TryRecords {
  readonly #pool: pg.Pool;
  readonly #onError: (error: Error) => void;
  /** Slots came back that others wait for. */
  readonly #onFreed: () => void;
  #waiting: Entry[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: pg.Pool, onFreed: () => void, onError: (error: Error) => void) {
    this.#pool = pool;
    this.#onFreed = onFreed;
    this.#onError = onError;
  }

  /** Resolves with the inputs asked for, once written. Written before any later record of this worker. */
  async started(row: StartedRow): Promise<Record<string, unknown>> {
    return await this.#add(
      { kind: "started", row },
      Object.keys(row.inputs).length === 0 ? START_WINDOW_MS : 0,
    );
  }

  /** Resolves once written; the slots are free then. */
  async ended(row: EndedRow): Promise<void> {
    await this.#add({ kind: "ended", row }, 0);
  }

  async #add(item: Item, withinMs: number): Promise<Record<string, unknown>> {
    return await new Promise((resolve) => {
      this.#waiting.push({ item, resolve });
      if (this.#busy) return;
      if (withinMs === 0) void this.#drain();
      else this.#timer ??= setTimeout(() => void this.#drain(), withinMs);
    });
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#busy) return;
    this.#busy = true;
    await Promise.resolve();
    for (let failures = 0; this.#waiting.length > 0;) {
      const batch = this.#waiting.slice(0, LIMIT);
      try {
        await this.#write(batch);
        this.#waiting.splice(0, batch.length);
        failures = 0;
      } catch (error) {
        this.#onError(error as Error);
        await new Promise((resolve) =>
          setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]),
        );
        failures += 1;
      }
    }
    this.#busy = false;
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    const started: StartedRow[] = [];
    const ended: EndedRow[] = [];
    for (const { item } of batch) {
      if (item.kind === "started") started.push(item.row);
      else ended.push(item.row);
    }
    const recorded = await recordTries(this.#pool, started, ended);
    const inputs = new Map<string, Record<string, unknown>>();
    for (const row of recorded.inputs) {
      const key = keyOf(row);
      const own = inputs.get(key) ?? {};
      own[row.name] = row.output;
      inputs.set(key, own);
    }
    for (const { item, resolve } of batch) resolve(inputs.get(keyOf(item.row)) ?? {});
    if (recorded.waiting) this.#onFreed();
  }
}

function keyOf(row: { run: number; task_id: string; map_index: number; try: number }): string {
  return `${row.run} ${row.task_id} ${row.map_index} ${row.try}`;
}
