/**
 * The progress of a run as it is carried, stored and shown: 20,000 instances are mostly alike. Each distinct cell stands
 * once, and cells in a row that are alike stand as one. Plain JSON, far below the 2 MB that Temporal takes.
 */
import type { RunCell, TaskProgress } from "./cells.ts";
import type { RunProgress } from "./progress.ts";

/** Which of the distinct cells, and how many of them in a row. */
type Row = readonly [cell: number, count: number];

/** Tasks in a row that are not mapped; or one that is, or was. */
type PackedTask =
  | Row
  | (Omit<TaskProgress, "own" | "instances"> & {
      readonly own: number;
      readonly instances: readonly Row[] | null;
    });

export interface PackedProgress extends Omit<RunProgress, "tasks"> {
  readonly cells: readonly RunCell[];
  readonly tasks: readonly PackedTask[];
}

export function pack({ tasks, ...rest }: RunProgress): PackedProgress {
  const distinct = new Distinct();
  const packed: PackedTask[] = [];
  const plain: number[] = [];
  const endRow = (): void => void packed.push(...rowsOf(plain.splice(0)));
  for (const { own, instances, ...task } of tasks) {
    const cell = distinct.of(own);
    if (instances === null && task.count === null && task.tally === null) {
      plain.push(cell);
      continue;
    }
    endRow();
    const rows = instances === null ? null : rowsOf(instances.map((one) => distinct.of(one)));
    packed.push({ ...task, own: cell, instances: rows });
  }
  endRow();
  return { ...rest, cells: distinct.cells, tasks: packed };
}

/** Also takes what is not packed: it was stored before there was anything to pack. */
export function unpack(given: PackedProgress | RunProgress): RunProgress {
  if (!("cells" in given)) return given;
  const { cells, tasks, ...rest } = given;
  const cellsOf = (rows: readonly Row[]): RunCell[] =>
    rows.flatMap(([cell, count]) => Array.from({ length: count }, () => cells[cell]!));
  const unpacked = tasks.flatMap((task): TaskProgress[] => {
    if (isRow(task))
      return cellsOf([task]).map((own) => ({ own, instances: null, count: null, tally: null }));
    const { own, instances, ...more } = task;
    return [{ ...more, own: cells[own]!, instances: instances === null ? null : cellsOf(instances) }];
  });
  return { ...rest, tasks: unpacked };
}

const isRow = (task: PackedTask): task is Row => Array.isArray(task);

function rowsOf(cells: readonly number[]): Row[] {
  const rows: [number, number][] = [];
  for (const cell of cells) {
    const last = rows.at(-1);
    if (last !== undefined && last[0] === cell) last[1] += 1;
    else rows.push([cell, 1]);
  }
  return rows;
}

/** Cells that differ, numbered as they come. */
class Distinct {
  readonly cells: RunCell[] = [];
  readonly #numbers = new Map<string, number>();
  /** Most cells are one and the same object. */
  readonly #known = new Map<RunCell, number>();

  of(cell: RunCell): number {
    const known = this.#known.get(cell);
    if (known !== undefined) return known;
    // Whatever order its keys came in, by a change or out of the database.
    const text = JSON.stringify(Object.entries(cell).sort(([a], [b]) => (a < b ? -1 : 1)));
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.cells.push(cell) - 1;
      this.#numbers.set(text, number);
    }
    this.#known.set(cell, number);
    return number;
  }
}
