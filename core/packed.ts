/**
 * The progress of a run as it is carried, stored and shown: 20,000 instances are mostly alike. Each distinct cell stands
 * once, and cells in a row that are alike stand as one. Plain JSON, far below the 2 MB that Temporal takes.
 */
import type { RunCell, TaskProgress } from "./cells.ts";
import type { RunProgress } from "./progress.ts";

/**
 * Which of the distinct cells, and how many of them in a row. `waitBy` stands here: instants differ where all else is alike.
 */
type Row = readonly [cell: number, count: number, waitBy?: number];

/** One cell: which of the distinct ones, and its `waitBy`. */
type Place = readonly [cell: number, waitBy: number | undefined];

/** Tasks in a row that are not mapped; or one that is, or was. */
type PackedTask =
  | Row
  | (Omit<TaskProgress, "own" | "instances"> & {
      readonly own: Row;
      readonly instances: readonly Row[] | null;
    });

export interface PackedProgress extends Omit<RunProgress, "tasks" | "removed"> {
  readonly cells: readonly RunCell[];
  readonly tasks: readonly PackedTask[];
  readonly removed?: { readonly ids: readonly string[]; readonly tasks: readonly PackedTask[] };
}

export function pack({ tasks, removed, ...rest }: RunProgress): PackedProgress {
  const distinct = new Distinct();
  const packed = packTasks(tasks, distinct);
  if (removed === undefined) return { ...rest, cells: distinct.cells, tasks: packed };
  const packedRemoved = { ids: Object.keys(removed), tasks: packTasks(Object.values(removed), distinct) };
  return { ...rest, cells: distinct.cells, tasks: packed, removed: packedRemoved };
}

function packTasks(tasks: readonly TaskProgress[], distinct: Distinct): PackedTask[] {
  const packed: PackedTask[] = [];
  const plain: Place[] = [];
  const endRow = (): void => void packed.push(...rowsOf(plain.splice(0)));
  for (const { own, instances, ...task } of tasks) {
    const cell = distinct.of(own);
    if (instances === null && task.count === null && task.tally === null) {
      plain.push(cell);
      continue;
    }
    endRow();
    const rows = instances === null ? null : rowsOf(instances.map((one) => distinct.of(one)));
    packed.push({ ...task, own: rowsOf([cell])[0]!, instances: rows });
  }
  endRow();
  return packed;
}

/** Also takes what is not packed: it was stored before there was anything to pack. */
export function unpack(given: PackedProgress | RunProgress): RunProgress {
  if (!("cells" in given)) return given;
  const { cells, tasks, removed, ...rest } = given;
  if (removed === undefined) return { ...rest, tasks: unpackTasks(tasks, cells) };
  const unpacked = unpackTasks(removed.tasks, cells);
  const byId = Object.fromEntries(removed.ids.map((id, i) => [id, unpacked[i]!]));
  return { ...rest, tasks: unpackTasks(tasks, cells), removed: byId };
}

function unpackTasks(tasks: readonly PackedTask[], cells: readonly RunCell[]): TaskProgress[] {
  const cellsOf = (rows: readonly Row[]): RunCell[] =>
    rows.flatMap(([number, count, waitBy]) => {
      const cell = waitBy === undefined ? cells[number]! : { ...cells[number]!, waitBy };
      return Array.from({ length: count }, () => cell);
    });
  return tasks.flatMap((task): TaskProgress[] => {
    if (isRow(task))
      return cellsOf([task]).map((own) => ({ own, instances: null, count: null, tally: null }));
    const { own, instances, ...more } = task;
    return [{ ...more, own: cellsOf([own])[0]!, instances: instances === null ? null : cellsOf(instances) }];
  });
}

const isRow = (task: PackedTask): task is Row => Array.isArray(task);

function rowsOf(cells: readonly Place[]): Row[] {
  const rows: [number, number, number?][] = [];
  for (const [cell, waitBy] of cells) {
    const last = rows.at(-1);
    if (last !== undefined && last[0] === cell && last[2] === waitBy) last[1] += 1;
    else rows.push(waitBy === undefined ? [cell, 1] : [cell, 1, waitBy]);
  }
  return rows;
}

/** Cells that differ, numbered as they come. */
class Distinct {
  readonly cells: RunCell[] = [];
  readonly #numbers = new Map<string, number>();
  /** Most cells are one and the same object. */
  readonly #known = new Map<RunCell, Place>();

  of(given: RunCell): Place {
    const known = this.#known.get(given);
    if (known !== undefined) return known;
    const { waitBy, ...cell } = given;
    // Whatever order its keys came in, by a change or out of the database.
    const text = JSON.stringify(Object.entries(cell).sort(([a], [b]) => (a < b ? -1 : 1)));
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.cells.push(cell) - 1;
      this.#numbers.set(text, number);
    }
    const place = [number, waitBy] as const;
    this.#known.set(given, place);
    return place;
  }
}
