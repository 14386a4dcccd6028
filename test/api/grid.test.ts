import { expect, test } from "vitest";
import { keepCells, keepLast } from "../../api/grid-memory.ts";
import { layGrid } from "../../api/grid.ts";
import type { Db } from "../../db/connection.ts";
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
  print: "0",
  mapped: false,
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

test("A7: instances of a mapped task stand beside, by their states, with how many they are", () => {
  const instances: GridCellRow[] = [
    [1, "load", "failed", 3, 1, 9, 2, ["rome", "oslo"]],
    [1, "load", "success", 1, 1, 5, 7, null],
  ];
  const grid = layGrid([run(1), run(2)], current, [...cells, ...instances]);
  const code = (state: (typeof grid.states)[number]): number => grid.states.indexOf(state);
  expect(grid.mapped).toEqual([
    [
      [1, code("success"), 1, 1, 5, 7],
      [1, code("failed"), 3, 1, 9, 2, "rome", "oslo"],
    ],
    [],
  ]);
});

test("the order the cells come in changes nothing, so the ETag holds", () => {
  expect(layGrid([run(1), run(2)], current, cells.toReversed())).toEqual(
    layGrid([run(1), run(2)], current, cells),
  );
});

/** Answers each run with two cells, and remembers what it was asked. */
function cellDatabase() {
  const asked: number[][] = [];
  const query = async ({ values: [runs] }: { values: [number[]] }) => {
    asked.push(runs);
    return { rows: runs.flatMap((number) => cellsOf(number)) };
  };
  return { asked, db: { query } as unknown as Db };
}
const cellsOf = (number: number): GridCellRow[] => [
  [number, "extract", "success", 1, 1, 2],
  [number, "load", "success", 1, 1, 2],
];

test("cells are read again only for runs that changed", async () => {
  const { asked, db } = cellDatabase();
  const cells = keepCells(db);
  const runs = [run(1), run(2)];
  expect(await cells(runs)).toEqual([...cellsOf(1), ...cellsOf(2)]);
  expect(await cells(runs)).toEqual([...cellsOf(1), ...cellsOf(2)]);
  await cells([{ ...run(1), print: "7" }, run(2), run(3)]);
  expect(asked).toEqual([
    [1, 2],
    [1, 3],
  ]);
});

test("what is kept has a bound, and two askers at once do not take each other's", async () => {
  const { asked, db } = cellDatabase();
  const cells = keepCells(db, 4);
  await cells([run(1), run(2)]);
  const [one, two] = await Promise.all([cells([run(1), run(3)]), cells([run(2), run(4), run(5)])]);
  expect(one).toEqual([...cellsOf(1), ...cellsOf(3)]);
  expect(two).toEqual([...cellsOf(2), ...cellsOf(4), ...cellsOf(5)]);
  await cells([run(5)]);
  expect(asked).toEqual([[1, 2], [3], [4, 5]]);
  await cells([run(1)]);
  expect(asked.at(-1)).toEqual([1]);
});

test("an answer that failed is asked for again", async () => {
  let calls = 0;
  const read = keepLast(2, async (key) => {
    calls += 1;
    if (calls === 1) throw new Error("away");
    return key * 10;
  });
  await expect(read(1)).rejects.toThrow("away");
  expect([await read(1), await read(1), await read(2), await read(3), await read(1)]).toEqual([
    10, 10, 20, 30, 10,
  ]);
  expect(calls).toBe(5);
});
