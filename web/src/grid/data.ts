/**
 * What the page knows of a DAG's grid: the newest page as it was last read, older pages as they were scrolled to, and
 * the changes since. Pure. What did not change keeps its identity, so that it is not drawn again.
 */
import type { Changes, Grid, GridCell, GridRun, GridTask, MappedCell, Run } from "../../../api/contracts.ts";
import type { TaskState } from "../../../core/states.ts";
import { mergeCells, sameCell, type CellView } from "./model.ts";

export interface GridColumn {
  readonly run: GridRun;
  /** By task id; a task without one has not been asked for in that run. */
  readonly cells: ReadonlyMap<string, CellView>;
}

export interface GridData {
  readonly dagId: string;
  /** The current version's in definition order, then those that only older runs have. */
  readonly tasks: readonly GridTask[];
  /** Newest last. */
  readonly columns: readonly GridColumn[];
  /** Ask with it for older runs; null: there are none. */
  readonly before: string | null;
}

/** The order of the API: by logical date, then by number of the run. Both stand in the key. */
function compareKeys(a: string, b: string): number {
  const [dateA = "0", runA = "0"] = a.split(".");
  const [dateB = "0", runB = "0"] = b.split(".");
  return Number(dateA) - Number(dateB) || Number(runA) - Number(runB);
}

export const isBefore = (a: string, b: string): boolean => compareKeys(a, b) < 0;

/** The newest page, read again. Older columns stay if it reaches them; if not, some lie between that nobody has read. */
export function withNewest(old: GridData | null, grid: Grid): GridData {
  const known = new Map(old?.columns.map((column) => [column.run.key, column]));
  const columns = columnsOf(grid, known);
  const oldest = grid.runs[0]?.key;
  const meets = grid.runs.some((run) => known.has(run.key));
  const kept =
    old === null || oldest === undefined || grid.before === null || !meets
      ? []
      : old.columns.filter((column) => compareKeys(column.run.key, oldest) < 0);
  const tasks = joinTasks(grid.tasks, kept.length > 0 ? old!.tasks : []);
  const before = kept.length > 0 ? old!.before : grid.before;
  return keepSame(old, { dagId: grid.dagId, tasks, columns: [...kept, ...columns], before });
}

/** The page before the oldest column. */
export function withOlder(old: GridData, grid: Grid): GridData {
  const known = new Set(old.columns.map((column) => column.run.key));
  const older = columnsOf(grid, new Map()).filter((column) => !known.has(column.run.key));
  return {
    ...old,
    tasks: joinTasks(old.tasks, grid.tasks),
    columns: [...older, ...old.columns],
    before: grid.before,
  };
}

/** Runs and cells that changed. Runs older than what is shown are left out: they are read when scrolled to. */
export function withChanges(old: GridData, changes: Changes): GridData {
  const next = new Map<string, GridColumn>();
  const byRunId = new Map(old.columns.map((column) => [column.run.runId, column]));
  for (const run of changes.runs) {
    if (run.dagId !== old.dagId) continue;
    const column = byRunId.get(run.runId);
    const oldest = old.columns[0]?.run.key;
    const isOlder = oldest !== undefined && old.before !== null && compareKeys(run.key, oldest) < 0;
    if (column === undefined && isOlder) continue;
    if (column !== undefined && sameRun(column.run, run)) continue;
    next.set(run.runId, { run: gridRunOf(run), cells: column?.cells ?? new Map<string, CellView>() });
  }
  for (const { dagId, runId, cells } of changes.cells) {
    const column = next.get(runId) ?? byRunId.get(runId);
    if (dagId !== old.dagId || column === undefined) continue;
    const changed = patchCells(column.cells, cells);
    if (changed !== column.cells) next.set(runId, { run: column.run, cells: changed });
  }
  if (next.size === 0) return old;
  const columns = old.columns.map((column) => next.get(column.run.runId) ?? column);
  const added = [...next.values()].filter((column) => !byRunId.has(column.run.runId));
  return {
    ...old,
    columns:
      added.length === 0
        ? columns
        : [...columns, ...added].toSorted((a, b) => compareKeys(a.run.key, b.run.key)),
  };
}

/** Instances of a mapped task are not told apart in the grid's cells: they are left to the next reading. */
function patchCells(
  old: ReadonlyMap<string, CellView>,
  cells: Changes["cells"][number]["cells"],
): ReadonlyMap<string, CellView> {
  let next: Map<string, CellView> | null = null;
  for (const cell of cells) {
    if (cell.mapIndex >= 0) continue;
    const view: CellView = {
      state: cell.state,
      try: cell.try,
      startedAt: cell.startedAt === null ? null : Date.parse(cell.startedAt),
      endedAt: cell.endedAt === null ? null : Date.parse(cell.endedAt),
      count: 1,
    };
    if (sameCell(old.get(cell.taskId), view)) continue;
    next ??= new Map(old);
    next.set(cell.taskId, view);
  }
  return next ?? old;
}

function columnsOf(grid: Grid, known: ReadonlyMap<string, GridColumn>): GridColumn[] {
  return grid.runs.map((run, at) => {
    const old = known.get(run.key);
    const cells = cellsOf([...(grid.cells[at] ?? []), ...(grid.mapped[at] ?? [])], grid, old?.cells ?? null);
    if (old !== undefined && old.cells === cells && sameRun(old.run, run)) return old;
    return { run, cells };
  });
}

function cellsOf(
  cells: readonly (GridCell | MappedCell)[],
  { tasks, states }: Grid,
  old: ReadonlyMap<string, CellView> | null,
): ReadonlyMap<string, CellView> {
  const next = new Map<string, CellView>();
  for (const [task, state, tried, startedAt, endedAt, count = 1, ...labels] of cells) {
    const id = tasks[task]?.id;
    if (id === undefined) continue;
    const cell: CellView = {
      state: stateOf(states, state),
      try: tried,
      startedAt,
      endedAt,
      count,
      ...(labels.length > 0 && { labels }),
    };
    const other = next.get(id);
    next.set(id, other === undefined ? cell : mergeCells(other, cell));
  }
  if (old === null) return next;
  let same = old.size === next.size;
  for (const [id, cell] of next) {
    const before = old.get(id);
    if (sameCell(before, cell)) next.set(id, before!);
    else same = false;
  }
  return same ? old : next;
}

const stateOf = (states: readonly TaskState[], state: number): TaskState => states[state] ?? "none";

function gridRunOf(run: Run): GridRun {
  const { key, runId, runType, state, logicalDate, interval, startedAt, endedAt, version } = run;
  return { key, runId, runType, state, logicalDate, interval, startedAt, endedAt, version };
}

function sameRun(a: GridRun, b: GridRun): boolean {
  return (
    a.state === b.state &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.version === b.version &&
    a.key === b.key
  );
}

/** Tasks of the first list, then those that only the second has: the current version does not know them. */
function joinTasks(first: readonly GridTask[], second: readonly GridTask[]): readonly GridTask[] {
  const known = new Set(first.map((task) => task.id));
  const more = second.filter((task) => !known.has(task.id)).map((task) => ({ ...task, removed: true }));
  return more.length === 0 ? first : [...first, ...more];
}

function keepSame(old: GridData | null, next: GridData): GridData {
  if (old === null) return next;
  const tasks = sameTasks(old.tasks, next.tasks) ? old.tasks : next.tasks;
  const columns =
    old.columns.length === next.columns.length && old.columns.every((one, at) => one === next.columns[at])
      ? old.columns
      : next.columns;
  return tasks === old.tasks && columns === old.columns && old.before === next.before
    ? old
    : { ...next, tasks, columns };
}

function sameTasks(a: readonly GridTask[], b: readonly GridTask[]): boolean {
  return (
    a.length === b.length && a.every((task, at) => task.id === b[at]!.id && task.removed === b[at]!.removed)
  );
}
