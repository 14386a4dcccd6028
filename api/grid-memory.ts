import type { Db } from "../db/connection.ts";
import { readGridCells, readMappedCells, type GridCellRow, type GridRunRow } from "../db/read/grid.ts";

/** About 20 MB. */
const CELLS_KEPT = 100_000;

/** Remembers the last `size` answers of `read`; one that failed is forgotten. */
export function keepLast<T>(size: number, read: (key: number) => Promise<T>): (key: number) => Promise<T> {
  const kept = new Map<number, Promise<T>>();
  return (key) => {
    const known = kept.get(key);
    const answer = known ?? read(key);
    kept.delete(key);
    kept.set(key, answer);
    if (kept.size > size) kept.delete(kept.keys().next().value!);
    if (known === undefined) answer.catch(() => kept.delete(key));
    return answer;
  };
}

/** Cells of runs, read again only when a run's fingerprint has changed; the longest unasked are forgotten first. */
export function keepCells(
  db: Db,
  most = CELLS_KEPT,
): (runs: readonly GridRunRow[]) => Promise<GridCellRow[]> {
  const kept = new Map<number, { print: string; cells: GridCellRow[] }>();
  let total = 0;
  const forget = (run: number): void => {
    total -= kept.get(run)?.cells.length ?? 0;
    kept.delete(run);
  };
  const keep = (run: number, print: string, cells: GridCellRow[]): void => {
    forget(run);
    kept.set(run, { print, cells });
    total += cells.length;
  };
  return async (runs) => {
    // Taken before waiting: another request may forget them meanwhile.
    const known = runs.map((row) => kept.get(row.run));
    const stale = runs.filter((row, i) => known[i]?.print !== row.print);
    const fresh = new Map(stale.map((row) => [row.run, [] as GridCellRow[]]));
    if (stale.length > 0) {
      const mapped = stale.filter((row) => row.mapped).map((row) => row.run);
      const [cells, instances] = await Promise.all([
        readGridCells(db, [...fresh.keys()]),
        mapped.length === 0 ? [] : readMappedCells(db, mapped),
      ]);
      for (const cell of [...cells, ...instances]) fresh.get(cell[0])!.push(cell);
    }
    const answer = runs.flatMap((row, i) => {
      const cells = fresh.get(row.run) ?? known[i]!.cells;
      keep(row.run, row.print, cells);
      return cells;
    });
    for (const run of kept.keys()) {
      if (total <= most) break;
      forget(run);
    }
    return answer;
  };
}
