/** Cells as the grid draws them, and how several are summed up in one. Pure. */
import type { GridRun } from "../../../api/contracts.ts";
import type { TaskState } from "../../../core/states.ts";

export interface CellView {
  readonly state: TaskState;
  readonly try: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** How many mapped instances, or tasks of a group, the cell stands for; 1 for a plain task. */
  readonly count: number;
  /** Of mapped instances that want eyes: labels of up to four. */
  readonly labels?: readonly string[];
  /** Of a group: how many of its tasks are in which state, the loudest first. */
  readonly tally?: readonly (readonly [TaskState, number])[];
}

/** Which state speaks for several: the one that most wants eyes. */
const LOUDEST: readonly TaskState[] = [
  "failed",
  "upstream_failed",
  "up_for_retry",
  "running",
  "queued",
  "deferred",
  "none",
  "cancelled",
  "success",
  "skipped",
  "removed",
];

/** The one of several states that most wants eyes. */
export function loudest(states: readonly TaskState[]): TaskState | undefined {
  return LOUDEST.find((state) => states.includes(state));
}

/** Two mapped instances, or two tasks of a group, as one. */
export function mergeCells(a: CellView, b: CellView): CellView {
  const loud = loudest([a.state, b.state]) === a.state ? a : b;
  return {
    state: loud.state,
    try: Math.max(a.try, b.try),
    startedAt: least(a.startedAt, b.startedAt),
    endedAt: a.endedAt === null || b.endedAt === null ? null : Math.max(a.endedAt, b.endedAt),
    count: a.count + b.count,
    ...(loud.labels !== undefined && { labels: loud.labels }),
  };
}

function least(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

export function sameCell(a: CellView | undefined, b: CellView): boolean {
  return (
    a !== undefined &&
    a.state === b.state &&
    a.try === b.try &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.count === b.count &&
    a.labels?.join("\n") === b.labels?.join("\n")
  );
}

/**
 * The tasks of a group as one cell; null when none of them has been asked for. A group that began and is not through
 * has tasks that are not started: those are counted, and speak only when nothing louder does.
 */
export function sumCells(cells: readonly (CellView | null)[]): CellView | null {
  let sum: CellView | null = null;
  const counts = new Map<TaskState, number>();
  for (const cell of cells) {
    const state = cell?.state ?? "none";
    counts.set(state, (counts.get(state) ?? 0) + 1);
    if (cell !== null) sum = sum === null ? cell : mergeCells(sum, cell);
  }
  if (sum === null) return null;
  const tally = LOUDEST.flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [[state, count] as const];
  });
  const open = counts.has("none");
  return {
    ...sum,
    state: tally[0]![0],
    count: cells.length,
    endedAt: open ? null : sum.endedAt,
    tally,
  };
}

/** How long a run took, or has taken; null before it starts. */
export function runDuration(run: GridRun, now: number): number | null {
  if (run.startedAt === null) return null;
  return Math.max(0, (run.endedAt === null ? now : Date.parse(run.endedAt)) - Date.parse(run.startedAt));
}

/** A run this many times as long as most cuts the scale of the bars: one that hangs must not flatten the rest. */
const CUT = 3;
/** What most runs stay within. */
const MOST = 0.9;

/** What the tallest bar stands for: of runs that ended, or of what is under way where none did. */
export function barScale(
  runs: readonly Pick<GridRun, "endedAt">[],
  durations: readonly (number | null)[],
): number {
  const longerAndLonger = (all: readonly (number | null)[]): number[] =>
    all.filter((one) => one !== null).toSorted((a, b) => a - b);
  const ended = longerAndLonger(durations.filter((_, at) => runs[at]?.endedAt !== null));
  const known = ended.length > 0 ? ended : longerAndLonger(durations);
  const most = known[Math.floor((known.length - 1) * MOST)] ?? 0;
  const longest = known.at(-1) ?? 0;
  return most > 0 ? Math.min(longest, most * CUT) : longest;
}
