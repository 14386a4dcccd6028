import { expect, test } from "vitest";
import { layGrid } from "../../api/grid.ts";
import type { GridCellRow, GridRunRow } from "../../db/read/grid.ts";

const run = (number: number): GridRunRow => ({
  run: number,
  run_id: `r${number}`,
  run_type: "manual",
  state: "success",
  logical_at: new Date(number),
  start_at: new Date(0),
  end_at: new Date(0),
  started_at: null,
  ended_at: null,
  version_number: 1,
});
const current = [
  { id: "extract", upstream: [], removed: false },
  { id: "load", upstream: [0], removed: false },
];
const cells: GridCellRow[] = [
  [2, "load", "running", 2, 5, null],
  [1, "old_b", "failed", 1, 1, 2],
  [1, "old_a", "success", 1, 1, 2],
  [2, "extract", "success", 1, 1, 2],
  [7, "extract", "success", 1, 1, 2],
];

test("rows are the current version's tasks, then those only older runs have", () => {
  const grid = layGrid([run(1), run(2)], current, cells);
  expect(grid.tasks.map((t) => [t.id, t.removed])).toEqual([
    ["extract", false],
    ["load", false],
    ["old_a", true],
    ["old_b", true],
  ]);
  const words = grid.cells.map((column) =>
    column.map(([task, state]) => `${grid.tasks[task]!.id} ${grid.states[state]}`),
  );
  expect(words).toEqual([
    ["old_a success", "old_b failed"],
    ["extract success", "load running"],
  ]);
});

test("the order the cells come in changes nothing, so the ETag holds", () => {
  expect(layGrid([run(1), run(2)], current, cells.toReversed())).toEqual(
    layGrid([run(1), run(2)], current, cells),
  );
});
