import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { isRefusal } from "../core/batcher.ts";
import { groupBy } from "../core/group-by.ts";
import { tryName } from "../db/runs.ts";
import { recordTries, type EndedRow, type LabelRow, type NextRow, type StartedRow } from "../db/tries.ts";
import { assemble, isRead, type TryInputs } from "./try-inputs.ts";

type Item = { readonly reject: (error: Error) => void } & (
  | { kind: "started"; row: StartedRow; resolve: (inputs: TryInputs) => void }
  | { kind: "ended"; row: EndedRow; next: readonly NextRow[]; resolve: (granted: readonly string[]) => void }
  | { kind: "labelled"; row: LabelRow }
);

const LIMIT = 500;
/** A start without inputs may wait so long for company: a short body's start and end then go in one statement. */
const START_WINDOW_MS = 10;
/** After a statement for several tries more are about to come, and gather for the next: a statement costs 2 ms of CPU. */
const BUSY_ITEMS = 4;
const BUSY_REST_MS = 40;
/** The same while others wait for the slots that come back: those stand idle meanwhile. */
const AWAITED_REST_MS = 10;
/** A label goes with what else is written; of a body that runs on alone it is seen within so long. */
const LABEL_WINDOW_MS = 500;
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
  #waiting: Item[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  constructor(pool: pg.Pool, onFreed: () => void, onError: (error: Error) => void) {
    this.#pool = pool;
    this.#onFreed = onFreed;
    this.#onError = onError;
  }

  /** Resolves with the inputs asked for, once written. Written before any later record of this worker. */
  async started(row: StartedRow): Promise<TryInputs> {
    const withinMs = Object.values(row.inputs).some(isRead) ? 0 : START_WINDOW_MS;
    return await new Promise((resolve, reject) =>
      this.#add({ kind: "started", row, resolve, reject }, withinMs),
    );
  }

  /**
   * Resolves once written; the slots are free then. `next`: tasks that may follow; answers those of the run that
   * have their slots now.
   */
  async ended(row: EndedRow, next: readonly NextRow[]): Promise<readonly string[]> {
    return await new Promise((resolve, reject) =>
      this.#add({ kind: "ended", row, next, resolve, reject }, 0),
    );
  }

  /** Written no later than what comes next of its try. */
  labelled(row: LabelRow): void {
    // What the database refuses of it is told by `onError`: a label is worth no more.
    this.#add({ kind: "labelled", row, reject: () => undefined }, LABEL_WINDOW_MS);
  }

  #add(item: Item, withinMs: number): void {
    this.#waiting.push(item);
    if (this.#busy) return;
    if (withinMs === 0) void this.#drain();
    else this.#drainWithin(withinMs);
  }

  #drainWithin(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => void this.#drain(), ms);
    // Nobody waits for a label.
    if (ms === LABEL_WINDOW_MS) this.#timer.unref();
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
    if (this.#busy) return;
    this.#busy = true;
    await Promise.resolve();
    /** So many are written one by one. */
    let alone = 0;
    const goesOn = (): boolean => alone > 0 || this.#waiting.some(({ kind }) => kind !== "labelled");
    for (let failures = 0, first = true; this.#waiting.length > 0 && (first || goesOn()); first = false) {
      const batch = this.#waiting.slice(0, alone > 0 ? 1 : LIMIT);
      try {
        const isAwaited = await this.#write(batch);
        this.#waiting.splice(0, batch.length);
        failures = 0;
        alone -= 1;
        if (batch.length >= BUSY_ITEMS) await sleep(isAwaited ? AWAITED_REST_MS : BUSY_REST_MS);
      } catch (error) {
        this.#onError(error as Error);
        // What the database refuses must not hold up the others: it is found by itself, and its try is told.
        if (isRefusal(error)) {
          if (batch.length > 1) alone = batch.length;
          else {
            this.#waiting.shift()!.reject(error as Error);
            alone -= 1;
          }
          continue;
        }
        await sleep(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
        failures += 1;
      }
    }
    this.#busy = false;
    if (this.#waiting.length > 0) this.#drainWithin(LABEL_WINDOW_MS);
  }

  /** Whether others wait for slots that came back. */
  async #write(batch: readonly Item[]): Promise<boolean> {
    const started: StartedRow[] = [];
    const ended: EndedRow[] = [];
    const next: NextRow[] = [];
    const labels: LabelRow[] = [];
    for (const item of batch) {
      if (item.kind === "labelled") {
        labels.push(item.row);
      } else if (item.kind === "started") {
        started.push(item.row);
      } else {
        ended.push(item.row);
        next.push(...item.next);
      }
    }
    const recorded = await recordTries(this.#pool, started, ended, next, labels);
    const parts = groupBy(recorded.inputs, tryName);
    const grants = groupBy(recorded.grants, ({ run }) => run);
    for (const item of batch) {
      if (item.kind === "started") {
        item.resolve(assemble(item.row.inputs, parts.get(tryName(item.row)) ?? []));
      } else if (item.kind === "ended") {
        // The first of a run's ends carries the grants of all; the run keeps those it does not need yet.
        item.resolve((grants.get(item.row.run) ?? []).map(({ task_id }) => task_id));
        grants.delete(item.row.run);
      }
    }
    if (recorded.waiting) this.#onFreed();
    return recorded.waiting;
  }
}
