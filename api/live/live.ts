import { Refused, Retryable } from "../../core/errors.ts";
import { RUN_DONE } from "../../core/states.ts";
import type { Db } from "../../db/connection.ts";
import {
  type Moment,
  readChangedCells,
  readChangedDags,
  readChangedRuns,
  readMoment,
  readOpenRuns,
} from "../../db/read/changes.ts";
import { readDialTurn } from "../../db/read/dial.ts";
import type { RunRow } from "../../db/read/runs.ts";
import type { Cell } from "../contracts.ts";
import { shapeCell, shapeRun } from "../shape.ts";
import { type Batch, type CellsOfRun, isPast, type Point, pointOf, Recent, sizeOf, Told } from "./changes.ts";
import { type LiveEvent, Subscriber } from "./subscriber.ts";

export interface LiveOptions {
  /** Shortest rest between two looks, ms. Default 150: a change is told well within a second. */
  readonly restMs?: number;
  /** How long it goes on without a subscriber, who may come back, ms. Default 30 000. */
  readonly lingerMs?: number;
  readonly onError?: (error: Error) => void;
}

/** A look that takes long is followed by a longer rest, so that looking never takes more than a fifth of a core. */
const REST_PER_LOOK = 4;
const LONGEST_REST_MS = 600;
const ERROR_REST_MS = 1_000;
/** The row of a DAG is found by reading all of them: 20,000 take about 5 ms. */
const DAGS_REST_MS = 500;
/** Rows kept for who comes back. About 40 MB at the most. */
const KEPT = 100_000;
const KEPT_MS = 60_000;
/** A run's number is taken from the clock shortly before its transaction gets a number. */
const NUMBER_SLACK_MS = 1_000;
/** How long the cells of a run that ended are looked at: a late record of a try may come behind its end. */
const AFTER_END_MS = 10_000;
interface RunNames {
  readonly dagId: string;
  readonly runId: string;
}

/** Streams of one process; each holds a socket and what was not told yet. */
const MOST_SUBSCRIBERS = 2_000;

/**
 * Tells subscribers what changes. One reader for a whole process looks several times a second, only while somebody
 * subscribes, and reads nothing while no transaction has ended. Of any number of processes each has its own; a
 * cursor of one holds for all, since it is the database's.
 */
export class Live {
  readonly #db: Db;
  readonly #options: LiveOptions;
  readonly #subscribers = new Set<Subscriber>();
  /** DAGs whose cells are read, since when (null: from the next look on), and when the last subscriber left. */
  readonly #watched = new Map<string, { since: Point | null; leftAt: number | null }>();
  readonly #open = new Map<number, RunNames>();
  readonly #ended = new Map<number, RunNames & { readonly at: number }>();
  #told = new Told();
  #recent: Recent | null = null;
  #beginning: Promise<void> | null = null;
  /** Of the last look that was told. */
  #moment: Moment | null = null;
  /** Of the last look at the DAGs' own rows. */
  #dagsMoment: Moment | null = null;
  #dagsAt = 0;
  /** Number of the last turn of the emergency dial that was told. */
  #dialTurn = 0;
  /** Moments since the one before which every transaction of now had not begun. */
  #moments: Moment[] = [];
  #idleSince: number | null = null;
  #stopped = false;

  constructor(db: Db, options: LiveOptions = {}) {
    this.#db = db;
    this.#options = options;
  }

  get #lingerMs(): number {
    return this.#options.lingerMs ?? 30_000;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Events from now on, or from where `lastId` left off; the first comes at once. Ends with the signal. */
  async *follow(
    dagId: string | null,
    lastId: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<LiveEvent, void, undefined> {
    if (this.#subscribers.size >= MOST_SUBSCRIBERS) {
      throw new Retryable(
        "too_many_streams",
        `${MOST_SUBSCRIBERS} streams are open here already: come later`,
      );
    }
    const point = lastId === null ? null : readId(lastId);
    await this.#begin();
    const subscriber = this.#subscribe(dagId, point);
    try {
      for (;;) {
        const event = await subscriber.next(signal);
        if (event === null) return;
        yield event;
      }
    } finally {
      this.#leave(subscriber);
    }
  }

  /** Nothing more is read. */
  stop(): void {
    this.#stopped = true;
  }

  #subscribe(dagId: string | null, point: Point | null): Subscriber {
    const now = this.#moment!;
    const watch = dagId === null ? undefined : this.#watched.get(dagId);
    if (dagId !== null) this.#watched.set(dagId, { since: watch?.since ?? null, leftAt: null });
    this.#idleSince = null;
    if (point === null) return this.#add(new Subscriber(dagId, now));
    const isCovered =
      dagId === null || (watch !== undefined && watch.since !== null && isPast(watch.since, point));
    const missed = isCovered ? this.#recent!.after(point) : null;
    if (missed === null) return this.#add(new Subscriber(dagId, now, "reload"));
    const subscriber = this.#add(new Subscriber(dagId, now));
    for (const batch of missed) subscriber.add(batch);
    return subscriber;
  }

  #add(subscriber: Subscriber): Subscriber {
    this.#subscribers.add(subscriber);
    return subscriber;
  }

  #leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    const { dagId } = subscriber;
    const watch = dagId === null ? undefined : this.#watched.get(dagId);
    if (watch !== undefined && ![...this.#subscribers].some((other) => other.dagId === dagId)) {
      watch.leftAt = Date.now();
    }
    if (this.#subscribers.size === 0) this.#idleSince = Date.now();
  }

  /** Resolves when a first look has been taken; throws what kept it from that. */
  async #begin(): Promise<void> {
    if (this.#moment !== null) return;
    this.#beginning ??= this.#first().finally(() => (this.#beginning = null));
    await this.#beginning;
  }

  async #first(): Promise<void> {
    const dialTurn = await readDialTurn(this.#db);
    const { moment, runs } = await readOpenRuns(this.#db);
    this.#dialTurn = dialTurn;
    this.#open.clear();
    this.#ended.clear();
    this.#watched.clear();
    this.#told = new Told();
    this.#recent = new Recent(moment, KEPT, KEPT_MS);
    for (const { run, dag_id, run_id } of runs) this.#open.set(run, { dagId: dag_id, runId: run_id });
    this.#moment = moment;
    this.#dagsMoment = moment;
    this.#moments = [moment];
    this.#idleSince = Date.now();
    void this.#loop();
  }

  async #loop(): Promise<void> {
    const { restMs = 150, onError } = this.#options;
    for (let failing = false; ;) {
      const began = performance.now();
      let pause = restMs;
      try {
        await this.#look();
        failing = false;
        pause = Math.min(Math.max(restMs, (performance.now() - began) * REST_PER_LOOK), LONGEST_REST_MS);
      } catch (error) {
        // The cursor stays where it was, so nothing is missed; said once.
        if (!failing && !this.#stopped) onError?.(error as Error);
        failing = true;
        pause = ERROR_REST_MS;
      }
      await new Promise((resolve) => setTimeout(resolve, pause).unref());
      const isIdle = this.#idleSince !== null && Date.now() - this.#idleSince > this.#lingerMs;
      if (this.#stopped || isIdle) break;
    }
    this.#moment = null;
  }

  async #look(): Promise<void> {
    const before = this.#moment!;
    const dagsAreDue = Date.now() - this.#dagsAt >= DAGS_REST_MS;
    if ((await readMoment(this.#db)).snapshot === before.snapshot) {
      if (!dagsAreDue || this.#dagsMoment!.snapshot === before.snapshot) return;
    }
    const { moment, runs } = await readChangedRuns(this.#db, {
      cursor: before.xmin,
      open: [...this.#open.keys()],
      madeFrom: (this.#moments[0]!.at - NUMBER_SLACK_MS) * 1000,
    });
    const dags = dagsAreDue ? await readChangedDags(this.#db, this.#dagsMoment!.xmin) : [];
    for (const row of runs) this.#note(row);
    const cells = await this.#lookAtCells(before);
    const dialTurn = await readDialTurn(this.#db);
    const batch: Batch = {
      to: moment,
      runs: runs
        .filter((row) => this.#told.isNew(`run ${row.run}`, row.xid))
        .map((row) => ({ run: row.run, shown: shapeRun(row) })),
      cells,
      dags: dags.filter((row) => this.#told.isNew(`dag ${row.dag_id}`, row.xid)).map((row) => row.dag_id),
      dial: dialTurn !== this.#dialTurn,
    };
    this.#dialTurn = dialTurn;
    this.#moment = moment;
    if (dagsAreDue) {
      this.#dagsMoment = moment;
      this.#dagsAt = Date.now();
    }
    this.#keepMoment(moment);
    this.#told.forgetBefore(this.#dagsMoment!.xmin);
    if (sizeOf(batch) === 0) return;
    this.#recent!.add(batch, Date.now());
    for (const subscriber of this.#subscribers) subscriber.add(batch);
  }

  #note(row: RunRow): void {
    const names = { dagId: row.dag_id, runId: row.run_id };
    if (RUN_DONE[row.state]) {
      this.#open.delete(row.run);
      this.#ended.set(row.run, { ...names, at: Date.now() });
    } else {
      this.#ended.delete(row.run);
      this.#open.set(row.run, names);
    }
  }

  async #lookAtCells(before: Moment): Promise<CellsOfRun[]> {
    const now = Date.now();
    for (const [dagId, watch] of this.#watched) {
      if (watch.leftAt !== null && now - watch.leftAt > this.#lingerMs) this.#watched.delete(dagId);
      else watch.since ??= before;
    }
    for (const [run, { at }] of this.#ended) if (now - at > AFTER_END_MS) this.#ended.delete(run);
    if (this.#watched.size === 0) return [];
    const names = new Map<number, RunNames>();
    for (const group of [this.#open, this.#ended]) {
      for (const [run, one] of group) if (this.#watched.has(one.dagId)) names.set(run, one);
    }
    if (names.size === 0) return [];
    const found = new Map<number, CellsOfRun & { readonly cells: Cell[] }>();
    for (const row of await readChangedCells(this.#db, [...names.keys()], before.xmin)) {
      if (!this.#told.isNew(`cell ${row.run} ${row.task_id} ${row.map_index}`, row.xid)) continue;
      const { dagId, runId } = names.get(row.run)!;
      const one = found.get(row.run) ?? { run: row.run, dagId, runId, cells: [] };
      one.cells.push(shapeCell(row));
      found.set(row.run, one);
    }
    return [...found.values()];
  }

  /**
   * A transaction that the next look may see for the first time got its number after the last moment that had
   * nothing younger than today's oldest; so did its runs.
   */
  #keepMoment(moment: Moment): void {
    this.#moments.push(moment);
    const last = this.#moments.findLastIndex(({ xmax }) => xmax <= moment.xmin);
    if (last > 0) this.#moments = this.#moments.slice(last);
  }
}

function readId(id: string): Point {
  const point = pointOf(id);
  if (point !== null) return point;
  throw new Refused(
    "bad_event_id",
    `Last-Event-ID ${JSON.stringify(id)} is not one of this API: leave it out`,
  );
}
