/** From the API's compact grid to rows of cells. Pure; rows that did not change keep their identity, so they are not drawn again. */
import type { Grid, GridCell, GridRun, GridTask } from "../../../api/contracts.ts";
import type { TaskState } from "../../../core/states.ts";

export interface CellView {
  readonly state: TaskState;
  readonly try: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** How many mapped instances the cell stands for; 1 when the task is not mapped. */
  readonly count: number;
}

export interface GridRow {
  readonly task: GridTask;
  /** One per column; null: the task has not been asked for in that run. */
  readonly cells: readonly (CellView | null)[];
}

export interface GridModel {
  readonly runs: readonly GridRun[];
  readonly rows: readonly GridRow[];
}

/** Which state speaks for several mapped instances: the one that most wants eyes. */
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

export function buildModel(grid: Grid, previous: GridModel | null): GridModel {
  const columns = grid.cells.map((cells) => columnOf(cells, grid.states));
  const old = new Map(previous?.rows.map((row) => [row.task.id, row]));
  const rows = grid.tasks.map((task, index) => {
    const cells = grid.runs.map((_run, column) => columns[column]?.get(index) ?? null);
    const before = old.get(task.id);
    return before !== undefined && sameRow(before, task, cells) ? before : { task, cells };
  });
  return { runs: grid.runs, rows };
}

function columnOf(cells: readonly GridCell[], states: readonly TaskState[]): Map<number, CellView> {
  const column = new Map<number, CellView>();
  for (const [task, state, tried, startedAt, endedAt] of cells) {
    const cell = { state: states[state] ?? "none", try: tried, startedAt, endedAt, count: 1 };
    const other = column.get(task);
    column.set(task, other === undefined ? cell : merge(other, cell));
  }
  return column;
}

function merge(a: CellView, b: CellView): CellView {
  const loud = loudest([a.state, b.state]) === a.state ? a : b;
  return {
    state: loud.state,
    try: Math.max(a.try, b.try),
    startedAt: least(a.startedAt, b.startedAt),
    endedAt: a.endedAt === null || b.endedAt === null ? null : Math.max(a.endedAt, b.endedAt),
    count: a.count + b.count,
  };
}

function least(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}

function sameRow(row: GridRow, task: GridTask, cells: readonly (CellView | null)[]): boolean {
  return (
    row.task.removed === task.removed &&
    row.cells.length === cells.length &&
    row.cells.every((cell, at) => sameCell(cell, cells[at] ?? null))
  );
}

function sameCell(a: CellView | null, b: CellView | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.state === b.state &&
    a.try === b.try &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.count === b.count
  );
}

/** How long a run took, or has taken; null before it starts. */
export function runDuration(run: GridRun, now: number): number | null {
  if (run.startedAt === null) return null;
  return Math.max(0, (run.endedAt === null ? now : Date.parse(run.endedAt)) - Date.parse(run.startedAt));
}

/** A run this many times the median's length cuts the scale of the bars: one that hangs must not flatten the rest. */
const CUT = 3;

/** What the tallest bar stands for. */
export function barScale(durations: readonly (number | null)[]): number {
  const known = durations.filter((one) => one !== null).toSorted((a, b) => a - b);
  const median = known[Math.floor((known.length - 1) / 2)] ?? 0;
  const longest = known.at(-1) ?? 0;
  return median > 0 ? Math.min(longest, median * CUT) : longest;
}
