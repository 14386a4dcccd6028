import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Changes, Grid, Run } from "../../api/contracts.ts";
import { TASK_STATES } from "../../core/states.ts";
import { moveCursor } from "../../web/src/grid/cursor.ts";
import { withChanges, withNewest, withOlder, type GridData } from "../../web/src/grid/data.ts";
import { barScale, loudest, runDuration, sumCells, type CellView } from "../../web/src/grid/model.ts";
import { layRows } from "../../web/src/grid/rows.ts";
import { ticksOf } from "../../web/src/grid/ticks.ts";
import { cell } from "./fixtures/cell.ts";

const at = (iso: string): number => Date.parse(iso);

describe("bars", () => {
  const runs = (...ended: boolean[]) =>
    ended.map((is) => ({ endedAt: is ? "2026-05-10T00:00:00.000Z" : null }));

  test.each([
    ["what most runs take", [true, true, true], [22, 20, 21], 22],
    ["one that hung does not flatten the rest", [true, true, true, true], [10, 10, 400, 10], 30],
    ["a run under way counts for nothing beside those that ended", [true, true, false], [22, 22, 3], 22],
    ["two kinds of runs, both whole", [true, true, true, true, true], [3, 3, 3, 22, 22], 22],
    ["none has ended", [false], [7], 7],
    ["none has begun", [false], [null], 0],
  ])("the scale: %s", (_what, ended, durations, scale) => {
    expect(barScale(runs(...ended), durations)).toBe(scale);
  });
});

describe("grid", () => {
  const run = (runId: string, logicalDate: string) => ({
    key: runId,
    runId,
    runType: "scheduled" as const,
    state: "running" as const,
    logicalDate,
    interval: { start: logicalDate, end: logicalDate },
    startedAt: "2026-05-10T00:00:00.000Z",
    endedAt: null,
    version: 1,
  });
  const grid = (cells: Grid["cells"]): Grid => ({
    dagId: "a",
    paused: false,
    version: 1,
    states: [...TASK_STATES],
    tasks: [
      { id: "one", upstream: [], removed: false },
      { id: "two", upstream: [0], removed: false },
    ],
    runs: [run("r1", "2026-05-09T00:00:00.000Z"), run("r2", "2026-05-10T00:00:00.000Z")],
    cells,
    mapped: [],
    before: null,
  });
  const state = (name: (typeof TASK_STATES)[number]): number => TASK_STATES.indexOf(name);

  const cellsAt = (data: GridData, task: string) =>
    data.columns.map((column) => column.cells.get(task)?.state ?? null);

  test("only columns and cells that changed become new ones", () => {
    const first = withNewest(
      null,
      grid([
        [[0, state("success"), 1, 1, 2]],
        [
          [0, state("success"), 1, 1, 2],
          [1, state("running"), 1, 3, null],
        ],
      ]),
    );
    const same = structuredClone([
      [[0, state("success"), 1, 1, 2]],
      [
        [0, state("success"), 1, 1, 2],
        [1, state("running"), 1, 3, null],
      ],
    ]) as Grid["cells"];
    expect(withNewest(first, grid(same))).toBe(first);
    same[1]![1] = [1, state("success"), 1, 3, 4];
    const next = withNewest(first, grid(same));
    expect(next.columns[0]).toBe(first.columns[0]);
    expect(next.columns[1]).not.toBe(first.columns[1]);
    expect(next.columns[1]?.cells.get("one")).toBe(first.columns[1]?.cells.get("one"));
    expect(cellsAt(next, "two")).toEqual([null, "success"]);
  });

  test("several mapped instances are one cell, shown by the state that most wants eyes", () => {
    const cells: Grid["cells"] = [
      [
        [0, state("success"), 1, 10, 20],
        [0, state("failed"), 3, 5, 40],
        [0, state("skipped"), 0, null, null],
      ],
      [],
    ];
    expect(withNewest(null, grid(cells)).columns[0]?.cells.get("one")).toEqual({
      state: "failed",
      try: 3,
      startedAt: 5,
      endedAt: null,
      count: 3,
    });
    for (const one of TASK_STATES) expect(loudest([one])).toBe(one);
    const counted: Grid = {
      ...grid([[], []]),
      mapped: [
        [
          [0, state("success"), 1, 1, 5, 7],
          [0, state("failed"), 3, 2, 9, 2, "rome", "oslo"],
        ],
      ],
    };
    expect(withNewest(null, counted).columns[0]?.cells.get("one")).toEqual({
      state: "failed",
      try: 3,
      startedAt: 1,
      endedAt: 9,
      count: 9,
      labels: ["rome", "oslo"],
    });
  });

  const page = (from: number, to: number, before: string | null, tasks: string[] = ["one"]): Grid => ({
    ...grid([]),
    tasks: tasks.map((id) => ({ id, upstream: [], removed: false })),
    runs: Array.from({ length: to - from }, (_, n) => ({
      ...run(`run-${from + n}`, new Date((from + n) * 1000).toISOString()),
      key: `${(from + n) * 1000}.${from + n}`,
    })),
    cells: Array.from({ length: to - from }, () => [[0, state("success"), 1, 1, 2]]),
    before,
  });
  const names = (data: GridData): string[] => data.columns.map((column) => column.run.runId);
  const range = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, n) => `run-${from + n}`);

  test("older pages stand before newer ones, and stay while the newest page moves on", () => {
    const two = withOlder(withNewest(null, page(90, 100, "90000.90")), page(80, 90, null, ["one", "gone"]));
    expect(names(two)).toEqual(range(80, 100));
    expect(two.tasks.map((task) => [task.id, task.removed])).toEqual([
      ["one", false],
      ["gone", true],
    ]);
    const later = withNewest(two, page(95, 105, "95000.95"));
    expect(names(later)).toEqual(range(80, 105));
    expect(later.before).toBe(null);
    expect(later.columns[0]).toBe(two.columns[0]);
  });

  test("when the newest page no longer meets what is known, the runs between are not passed over", () => {
    const old = withNewest(null, page(90, 100, "90000.90"));
    const later = withNewest(old, page(120, 130, "120000.120"));
    expect(names(later)).toEqual(range(120, 130));
    expect(later.before).toBe("120000.120");
  });

  test("runs that are gone go, whether within the newest page or because nothing is older", () => {
    const old = withNewest(null, page(90, 100, "90000.90"));
    expect(names(withNewest(old, page(95, 100, null)))).toEqual(range(95, 100));
  });

  const told = (number: number, change: Partial<Run>): Run => ({
    ...page(number, number + 1, null).runs[0]!,
    dagId: "a",
    queuedAt: "2026-05-09T00:00:00.000Z",
    triggeredBy: null,
    reason: null,
    ...change,
  });

  test("a change is put where it belongs and leaves the rest as it is; older runs are not dragged in", () => {
    const old = withNewest(null, page(90, 93, "90000.90"));
    const changes: Changes = {
      runs: [told(91, { state: "failed" }), told(93, {}), told(50, {}), told(90, {})],
      cells: [
        { dagId: "a", runId: "run-91", cells: [cell("one", "failed"), cell("two", "queued")] },
        { dagId: "a", runId: "run-93", cells: [cell("one", "running")] },
        { dagId: "other", runId: "run-90", cells: [cell("one", "failed")] },
      ],
      dags: [],
    };
    const next = withChanges(old, changes);
    expect(names(next)).toEqual(range(90, 94));
    expect(next.columns.map((column) => column.run.state)).toEqual([
      "running",
      "failed",
      "running",
      "running",
    ]);
    expect(cellsAt(next, "one")).toEqual(["success", "failed", "success", "running"]);
    expect(cellsAt(next, "two")).toEqual([null, "queued", null, null]);
    expect([next.columns[0], next.columns[2]]).toEqual([old.columns[0], old.columns[2]]);
    expect(next.columns[0]).toBe(old.columns[0]);
    expect(withChanges(next, changes)).toBe(next);
  });

  const GROUPS = {
    groups: [
      { id: "load", label: "Load it", parent: null, doc: "" },
      { id: "load.files", label: "", parent: "load", doc: "" },
    ],
    tasks: [
      { id: "begin", label: "", group: null },
      { id: "load.a", label: "", group: "load" },
      { id: "load.files.b", label: "B", group: "load.files" },
      { id: "end", label: "", group: null },
      { id: "load.c", label: "", group: "load" },
    ],
  };
  const TASKS = GROUPS.tasks.map(({ id }) => ({ id, upstream: [], removed: false }));
  const shown = (folded: string[], filter = ""): string[] =>
    layRows(TASKS, GROUPS, new Set(folded), filter).map((row) => `${"-".repeat(row.depth)}${row.label}`);

  test("F10: a group's rows stand together under it, and a folded group is one row", () => {
    expect(shown([])).toEqual(["begin", "Load it", "-a", "-files", "--B", "-c", "end"]);
    expect(shown(["load.files"])).toEqual(["begin", "Load it", "-a", "-files", "-c", "end"]);
    expect(shown(["load"])).toEqual(["begin", "Load it", "end"]);
    expect(shown(["load"], "files.b")).toEqual(["Load it", "-files", "--B"]);
    expect(shown([], "nothing")).toEqual([]);
    expect(layRows(TASKS, null, new Set(), "").map((row) => row.label)).toEqual(TASKS.map(({ id }) => id));
  });

  test("F10: a group is as its worst task, with how many are in which state", () => {
    const view = (name: (typeof TASK_STATES)[number]): CellView => ({
      state: name,
      try: 1,
      startedAt: 1,
      endedAt: 2,
      count: 1,
    });
    expect(sumCells([null, null])).toBe(null);
    expect(sumCells([view("success"), view("failed"), view("success"), null])).toMatchObject({
      state: "failed",
      count: 4,
      endedAt: null,
      tally: [
        ["failed", 1],
        ["none", 1],
        ["success", 2],
      ],
    });
    expect(sumCells([view("success"), view("skipped")])?.state).toBe("success");
  });

  test("a run under way is as long as it has taken so far", () => {
    expect(runDuration(run("r", "2026-05-09T00:00:00.000Z"), at("2026-05-10T00:01:00Z"))).toBe(60_000);
  });

  test("ticks are days, hours or minutes by the usual distance of runs, in the zone", () => {
    const every = (ms: number, count: number) =>
      Array.from({ length: count }, (_, n) =>
        run(`r${n}`, new Date(at("2026-05-30T22:00:00Z") + n * ms).toISOString()),
      );
    const days = ticksOf(every(86_400_000, 3), "Europe/Berlin");
    expect(days.ticks.map((tick) => tick.text)).toEqual(["31", "01", "02"]);
    expect(days.headings).toEqual([
      { from: 0, span: 1, text: "May 2026", short: "May" },
      { from: 1, span: 2, text: "Jun 2026", short: "Jun" },
    ]);
    expect(ticksOf(every(3_600_000, 3), "UTC").ticks.map((tick) => tick.text)).toEqual(["22", "23", "00"]);
    expect(ticksOf(every(300_000, 3), "UTC").headings).toEqual([
      { from: 0, span: 3, text: "2026-05-30 22h", short: "22h" },
    ]);
    expect(ticksOf([], "UTC")).toEqual({ ticks: [], headings: [] });
  });

  test("runs by hand within one minute, and within one second, are told apart", () => {
    const dates = ["14:05:03.000", "14:05:32.120", "14:05:32.870", "14:06:10.000"];
    const { ticks } = ticksOf(
      dates.map((clock, n) => run(`r${n}`, `2026-05-09T${clock}Z`)),
      "UTC",
    );
    expect(ticks.map((tick) => tick.text)).toEqual([":03", ":32", ":32", "06"]);
    expect(ticks.map((tick) => tick.label.slice(11))).toEqual([
      "14:05:03",
      "14:05:32.120",
      "14:05:32.870",
      "14:06",
    ]);
  });

  test("a run of the same day or hour as the one before it shows what differs", () => {
    const ticksAt = (dates: readonly string[], zone = "UTC"): string[] =>
      ticksOf(
        dates.map((date, n) => run(`r${n}`, `2026-05-${date}.000Z`)),
        zone,
      ).ticks.map((tick) => tick.text);
    // Hourly, with two by hand within one hour, and two within one minute.
    const hours = Array.from({ length: 24 }, (_, hour) => `09T${String(hour).padStart(2, "0")}:00:00`);
    const byHand = ["09T18:05:00", "09T18:32:00", "09T19:40:07", "09T19:40:41"];
    expect(ticksAt([...hours, ...byHand].toSorted()).slice(17, 26)).toEqual([
      "17",
      "18",
      ":05",
      ":32",
      "19",
      ":07",
      ":41",
      "20",
      "21",
    ]);
    const daily = ["07T00:00:00", "08T00:00:00", "09T00:00:00", "09T22:05:00", "09T22:50:00", "10T00:00:00"];
    expect(ticksAt([...daily, "11T00:00:00"])).toEqual(["07", "08", "09", "22h", ":50", "10", "11"]);
    // What shares a day in one zone need not in another.
    expect(ticksAt([...daily, "11T00:00:00", "12T00:00:00"], "Europe/Berlin").slice(2, 6)).toEqual([
      "09",
      "10",
      ":50",
      "02h",
    ]);
  });

  test("the keyboard never leaves the grid", () => {
    const keys = [
      "ArrowLeft",
      "ArrowRight",
      "ArrowUp",
      "ArrowDown",
      "Home",
      "End",
      "PageUp",
      "PageDown",
      "x",
    ];
    const bounds = { rows: 4, columns: 31, pageRows: 3 };
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...keys), fc.boolean()), { maxLength: 60 }), (moves) => {
        let cursor = { row: -1, column: 30 };
        for (const [key, far] of moves) {
          cursor = moveCursor(cursor, key, far, bounds) ?? cursor;
          expect(cursor.row).toBeGreaterThanOrEqual(-1);
          expect(cursor.row).toBeLessThan(4);
          expect(cursor.column).toBeGreaterThanOrEqual(cursor.row === -1 ? 0 : -1);
          expect(cursor.column).toBeLessThan(31);
        }
      }),
    );
  });
});
