/** Cells of a run: one for each task, and one for each instance of a mapped task. Pure. */
import { COUNTED_AS, type CountKey, type UpstreamCounts } from "./rules.ts";
import { TASK_DONE, type TaskState } from "./states.ts";

/** What becomes of a try that was asked to stop by hand, once its body has ended. */
export type AfterStop = "clear" | "success" | "failed" | "skipped";

/** Plain JSON. */
export interface RunCell {
  readonly state: TaskState;
  /** Number of the latest try; 0 before the first. */
  readonly try: number;
  /** Retries used up. Lost and requeued tries use none. */
  readonly retries: number;
  /** Tries lost in a row. */
  readonly lost: number;
  readonly afterStop?: AfterStop;
  /** Of a task that decides: the positions it chose among its direct downstream; empty: none. */
  readonly follow?: readonly number[];
  /** Ready, and waits for others of its task to end (`concurrency`). */
  readonly held?: true;
  /** Of a sensor: when its time-out is over, epoch ms; kept over its tries (P6). */
  readonly waitBy?: number;
  /** How many waits the latest try has begun. */
  readonly waits?: number;
  /** Its wait number `waits` has ended, and the body goes on; `by`: until then, epoch ms. */
  readonly resume?: { readonly by: number | null };
  /** The wait after which the try before had gone on when its worker was lost: this one goes on there, too. */
  readonly resumeOf?: { readonly try: number; readonly wait: number };
  /** A mapped task as a whole has been recorded: it is taken away when it is mapped out. */
  readonly told?: true;
}

/** How many cells of one mapped task are in which way done. */
interface Tally extends Record<CountKey, number> {
  /** Queued or running. */
  readonly active: number;
  readonly held: number;
}

/** How far one task has come. Plain JSON. */
export interface TaskProgress {
  /** Of the task as a whole: its only cell unless it is mapped out. */
  readonly own: RunCell;
  /** Instances by index; more than `count` of them remain when a list has become shorter. Null: never mapped out. */
  readonly instances: readonly RunCell[] | null;
  /** How many instances there are now; null: not mapped out. */
  readonly count: number | null;
  readonly tally: Tally | null;
}

export const NEW_CELL: RunCell = { state: "none", try: 0, retries: 0, lost: 0 };
export const NEW_TASK: TaskProgress = { own: NEW_CELL, instances: null, count: null, tally: null };

type MutableTally = { -readonly [K in keyof Tally]: Tally[K] };

const newTally = (): MutableTally => ({
  success: 0,
  failed: 0,
  upstreamFailed: 0,
  skipped: 0,
  active: 0,
  held: 0,
});

const isActive = (state: TaskState): boolean => state === "queued" || state === "running";

function count(tally: MutableTally, cell: RunCell, by: 1 | -1): void {
  const as = COUNTED_AS[cell.state];
  if (as !== "pending" && as !== "absent") tally[as] += by;
  if (isActive(cell.state)) tally.active += by;
  if (cell.held === true) tally.held += by;
}

/** The cells of one step: what it changes is copied first. */
export class Cells {
  readonly #tasks: TaskProgress[];
  /** Tasks whose instances and tally are this step's own. */
  readonly #own = new Set<number>();

  constructor(tasks: readonly TaskProgress[]) {
    this.#tasks = tasks.slice();
  }

  get all(): readonly TaskProgress[] {
    return this.#tasks;
  }

  task(task: number): TaskProgress {
    return this.#tasks[task]!;
  }

  /** `index` -1: the task as a whole. Undefined: there is no such cell. */
  find(task: number, index: number): RunCell | undefined {
    const row = this.#tasks[task];
    return index < 0 ? row?.own : row?.instances?.[index];
  }

  get(task: number, index: number): RunCell {
    return this.find(task, index)!;
  }

  set(task: number, index: number, cell: RunCell): void {
    const row = this.#tasks[task]!;
    if (index < 0) {
      this.#tasks[task] = { ...row, own: cell };
      return;
    }
    const { instances, tally } = this.#copy(task);
    if (row.count !== null && index < row.count) {
      count(tally, instances[index]!, -1);
      count(tally, cell, 1);
    }
    instances[index] = cell;
  }

  /** Maps a task out over `n` instances: new ones begin, known ones keep their numbers of tries. */
  mapOut(task: number, n: number): void {
    const row = this.#tasks[task]!;
    const known = row.instances ?? [];
    const instances = Array.from({ length: Math.max(n, known.length) }, (_, i) => known[i] ?? NEW_CELL);
    const tally = newTally();
    for (let i = 0; i < n; i++) {
      instances[i] = { ...NEW_CELL, try: instances[i]!.try };
      count(tally, instances[i]!, 1);
    }
    this.#own.add(task);
    this.#tasks[task] = { ...row, instances, count: n, tally };
  }

  /** It is to be mapped out anew. */
  mapIn(task: number): void {
    const row = this.#tasks[task]!;
    this.#own.delete(task);
    this.#tasks[task] = { ...row, own: { ...NEW_CELL, try: row.own.try }, count: null, tally: null };
  }

  /** Indexes of the task's cells: -1, or those of its instances. */
  *indexes(task: number): Generator<number> {
    const { count: n } = this.#tasks[task]!;
    if (n === null) yield -1;
    else for (let index = 0; index < n; index++) yield index;
  }

  isDone(task: number): boolean {
    const { own, count: n, tally } = this.#tasks[task]!;
    if (n === null || tally === null) return TASK_DONE[own.state];
    return tally.success + tally.failed + tally.upstreamFailed + tally.skipped === n;
  }

  /** Counts what `task` is for one that waits for it: all of it, or the instance of the same index. */
  addTo(
    counts: { -readonly [K in keyof UpstreamCounts]: UpstreamCounts[K] },
    task: number,
    index: number,
  ): void {
    const row = this.#tasks[task]!;
    if (row.count === null || row.tally === null) addCell(counts, row.own.state);
    else if (index >= 0) addCell(counts, row.instances![index]!.state);
    else {
      counts.total += row.count;
      counts.success += row.tally.success;
      counts.failed += row.tally.failed;
      counts.upstreamFailed += row.tally.upstreamFailed;
      counts.skipped += row.tally.skipped;
    }
  }

  #copy(task: number): { readonly instances: RunCell[]; readonly tally: MutableTally } {
    const row = this.#tasks[task]!;
    if (!this.#own.has(task)) {
      this.#own.add(task);
      this.#tasks[task] = {
        ...row,
        instances: row.instances!.slice(),
        tally: row.tally === null ? null : { ...row.tally },
      };
    }
    const { instances, tally } = this.#tasks[task]!;
    return { instances: instances as RunCell[], tally: (tally ?? newTally()) as MutableTally };
  }
}

function addCell(
  counts: { -readonly [K in keyof UpstreamCounts]: UpstreamCounts[K] },
  state: TaskState,
): void {
  const as = COUNTED_AS[state];
  if (as === "absent") return;
  counts.total += 1;
  if (as !== "pending") counts[as] += 1;
}
