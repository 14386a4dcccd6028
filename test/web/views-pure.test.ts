import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Graph, GraphTask, Try } from "../../api/contracts.ts";
import { sayChanges } from "../../web/src/code/change-words.ts";
import { highlight, highlightHunk } from "../../web/src/code/highlight.ts";
import { axisOf } from "../../web/src/gantt/axis.ts";
import { barsOfCell, barsOfTries, rowsOf, spanOf, spanOfCells } from "../../web/src/gantt/rows.ts";
import { layOut, type Layout } from "../../web/src/graph/layout.ts";
import { centresOf, neighbour } from "../../web/src/graph/moves.ts";
import { statesOf, tallyOf } from "../../web/src/graph/states.ts";
import { groupKey, sightOf, taskKey } from "../../web/src/graph/tree.ts";
import { cell } from "./fixtures/cell.ts";

type Shape = Pick<Graph, "groups" | "tasks" | "edges">;

function shape(
  groups: readonly (readonly [id: string, parent: string | null])[],
  tasks: readonly (readonly [id: string, group: string | null, ...upstream: string[]])[],
): Shape {
  return {
    groups: groups.map(([id, parent]) => ({ id, parent, label: "", doc: "" })),
    tasks: tasks.map(([id, group]) => ({ id, group, label: "" }) as GraphTask),
    edges: tasks.flatMap(([to, , ...upstream]) => upstream.map((from) => ({ from, to, inputs: [] }))),
  };
}

const NESTED = shape(
  [
    ["g", null],
    ["g.in", "g"],
  ],
  [
    ["a", null],
    ["g.b", "g", "a"],
    ["g.in.c", "g.in", "g.b"],
    ["g.in.d", "g.in", "g.in.c"],
    ["e", null, "g.in.d", "a"],
  ],
);
const at = (seconds: number): string => new Date(Date.UTC(2026, 4, 9, 10, 0, seconds)).toISOString();
const ms = (seconds: number): number => Date.parse(at(seconds));

describe("F10: what a graph shows when groups are folded", () => {
  const linksOf = (folded: string[]): string[] =>
    sightOf(NESTED, new Set(folded)).links.map(({ from, to }) => `${from} > ${to}`);

  test("all open: every task, with its own edges and its name within the group", () => {
    const { items } = sightOf(NESTED, new Set());
    expect(items.map((item) => [item.key, item.label, item.parent])).toEqual([
      ["group g", "g", null],
      ["group g.in", "in", "group g"],
      ["task a", "a", null],
      ["task g.b", "b", "group g"],
      ["task g.in.c", "c", "group g.in"],
      ["task g.in.d", "d", "group g.in"],
      ["task e", "e", null],
    ]);
    expect(linksOf([])).toHaveLength(5);
  });

  test("an edge to a folded group ends at it, one inside it is gone, and two of them are one", () => {
    expect(linksOf(["g.in"])).toEqual([
      "task a > task g.b",
      "task g.b > group g.in",
      "group g.in > task e",
      "task a > task e",
    ]);
    expect(linksOf(["g"])).toEqual(["task a > group g", "group g > task e", "task a > task e"]);
    // The outermost folded group counts, whatever is folded within it.
    expect(linksOf(["g", "g.in"])).toEqual(linksOf(["g"]));
    expect(sightOf(NESTED, new Set(["g", "g.in"])).items.map((item) => item.key)).toEqual([
      "group g",
      "task a",
      "task e",
    ]);
  });
});

describe("F10: where a graph's nodes stand", () => {
  /** Boxes on the whole picture. */
  function boxes(layout: Layout): Map<string, { x: number; y: number; right: number; bottom: number }> {
    const found = new Map<string, { x: number; y: number; right: number; bottom: number }>();
    for (const { item, x, y, width, height } of layout.placed) {
      const around = item.parent === null ? { x: 0, y: 0 } : found.get(item.parent)!;
      const corner = { x: around.x + x, y: around.y + y };
      found.set(item.key, { ...corner, right: corner.x + width, bottom: corner.y + height });
    }
    return found;
  }
  const arbitraryGraph = fc
    .record({
      groups: fc.array(fc.option(fc.nat(8)), { maxLength: 8 }),
      tasks: fc.array(fc.tuple(fc.option(fc.nat(7)), fc.array(fc.nat(40), { maxLength: 3 })), {
        minLength: 1,
        maxLength: 40,
      }),
      folded: fc.array(fc.nat(7), { maxLength: 4 }),
    })
    .map(({ groups, tasks, folded }) => ({
      graph: shape(
        groups.map((parent, n) => [`g${n}`, parent === null || parent >= n ? null : `g${parent}`] as const),
        tasks.map(
          ([group, upstream], n) =>
            [
              `t${n}`,
              group === null || group >= groups.length ? null : `g${group}`,
              ...new Set(upstream.filter((one) => one < n).map((one) => `t${one}`)),
            ] as const,
        ),
      ),
      folded: new Set(folded.map((n) => `g${n}`)),
    }));

  test("nothing overlaps, whatever is folded; what is in a group stands within it", () => {
    fc.assert(
      fc.property(
        arbitraryGraph,
        fc.constantFrom("right" as const, "down" as const),
        ({ graph, folded }, flow) => {
          const layout = layOut(sightOf(graph, folded), flow);
          const spots = boxes(layout);
          for (const { item } of layout.placed) {
            const own = spots.get(item.key)!;
            expect(Number.isFinite(own.x + own.right + own.y + own.bottom)).toBe(true);
            const around = item.parent === null ? undefined : spots.get(item.parent)!;
            if (around !== undefined) {
              expect(own.x >= around.x && own.right <= around.right).toBe(true);
              expect(own.y >= around.y && own.bottom <= around.bottom).toBe(true);
            }
            for (const { item: other } of layout.placed) {
              if (other === item || other.parent !== item.parent) continue;
              const its = spots.get(other.key)!;
              const apart =
                own.right <= its.x + 0.01 ||
                its.right <= own.x + 0.01 ||
                own.bottom <= its.y + 0.01 ||
                its.bottom <= own.y + 0.01;
              expect(apart, `${item.key} and ${other.key}`).toBe(true);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a link that skips a group passes it by", () => {
    const graph = shape(
      [["g", null]],
      [
        ["a", null],
        ["b", "g", "a"],
        ["c", "g", "a"],
        ["d", null, "a", "b", "c"],
      ],
    );
    for (const flow of ["right", "down"] as const) {
      const layout = layOut(sightOf(graph, new Set()), flow);
      const group = boxes(layout).get(groupKey("g"))!;
      const skips = layout.links.find(({ from, to }) => from === taskKey("a") && to === taskKey("d"))!;
      expect(skips.way.length).toBeGreaterThan(0);
      for (const { x, y } of skips.way) {
        const within = x >= group.x && x <= group.right && y >= group.y && y <= group.bottom;
        expect(within, `${flow} ${x} ${y}`).toBe(false);
      }
      const next = layout.links.find(({ to }) => to === taskKey("b"))!;
      expect(next.way).toEqual([]);
    }
  });

  test("a thousand tasks on one level: each stands right of all its upstreams, none on another", () => {
    const tasks = Array.from({ length: 1000 }, (_, n): [string, null, ...string[]] =>
      n === 0 ? [`t${n}`, null] : [`t${n}`, null, `t${Math.max(0, n - 1 - ((n * 7) % 13))}`, `t${n >> 1}`],
    );
    const layout = layOut(sightOf(shape([], tasks), new Set()));
    const spots = boxes(layout);
    for (const { from, to } of layout.links) expect(spots.get(from)!.right).toBeLessThan(spots.get(to)!.x);
    expect(new Set([...spots.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(1000);
  });

  test("groups that feed each other both ways are laid out all the same", () => {
    const many = Array.from({ length: 120 }, (_, n) => [`g${n}`, null] as const);
    const tasks = many.flatMap(([group], n) => [
      [`a${n}`, group, ...(n > 0 ? [`b${n - 1}`] : [])] as [string, string, ...string[]],
      [`b${n}`, group] as [string, string],
    ]);
    const graph = shape(many, tasks);
    const back = { ...graph, edges: [...graph.edges, { from: "a5", to: "b4", inputs: [] }] };
    const layout = layOut(sightOf(back, new Set(many.map(([id]) => id))));
    expect(layout.placed).toHaveLength(120);
    expect(layout.width).toBeGreaterThan(0);
  });

  test("arrows follow the edges, then go by sight", () => {
    const layout = layOut(sightOf(NESTED, new Set()));
    const centres = centresOf(layout.placed);
    const go = (key: string, arrow: Parameters<typeof neighbour>[3]) =>
      neighbour(layout, centres, key, arrow, "right");
    expect(go(taskKey("g.b"), "ArrowRight")).toBe(taskKey("g.in.c"));
    expect(go(taskKey("g.in.c"), "ArrowLeft")).toBe(taskKey("g.b"));
    expect(go(taskKey("e"), "ArrowRight")).toBeNull();
    expect([groupKey("g"), groupKey("g.in")]).toContain(go(taskKey("g.in.c"), "ArrowUp"));
  });
});

test("a mapped task's state is its loudest instance's; a group counts its tasks", () => {
  const states = statesOf([
    cell("a", "success", { mapIndex: 0 }),
    cell("a", "failed", { mapIndex: 1 }),
    cell("b", "running"),
  ]);
  expect(states.get("a")).toEqual({ state: "failed", count: 2 });
  expect(tallyOf(["a", "b", "c"], states)).toEqual([
    ["none", 1],
    ["running", 1],
    ["failed", 1],
  ]);
});

describe("rows and bars of a run", () => {
  test("F10: groups stand where their first task is; folded ones hide what is in them", () => {
    const cells = [cell("g.b", "failed"), cell("e", "running"), cell("old", "success")];
    const rows = rowsOf(NESTED, cells, ["g.in"], "");
    expect(rows.map((row) => [row.kind, row.label, row.depth])).toEqual([
      ["task", "a", 0],
      ["group", "g", 0],
      ["task", "b", 1],
      ["group", "in", 1],
      ["task", "e", 0],
      ["task", "old", 0],
    ]);
    expect(rows[1]).toMatchObject({ state: "failed", folded: false });
    expect(rowsOf(NESTED, cells, [], "g.in").map((row) => row.label)).toEqual(["g", "in", "c", "d"]);
  });

  test("instances of a mapped task are rows of their own, by number", () => {
    const cells = [cell("a", "success", { mapIndex: 10 }), cell("a", "running", { mapIndex: 2 })];
    expect(
      rowsOf(NESTED, cells, ["g"], "")
        .slice(0, 2)
        .map((row) => row.label),
    ).toEqual(["a[2]", "a[10]"]);
  });

  test("a try waits, then runs; one under way has no end; one that never began has only its wait", () => {
    const done = cell("a", "success", { queuedAt: at(0), startedAt: at(2), endedAt: at(5) });
    expect(barsOfCell(done).map(({ part, from, to }) => [part, from, to])).toEqual([
      ["queued", ms(0), ms(2)],
      ["ran", ms(2), ms(5)],
    ]);
    const runs = cell("a", "running", { queuedAt: at(0), startedAt: at(2) });
    expect(barsOfCell(runs).at(-1)).toMatchObject({ part: "ran", to: null });
    expect(barsOfCell(cell("a", "queued", { queuedAt: at(1) }))).toMatchObject([
      { part: "queued", to: null },
    ]);
    expect(barsOfCell(cell("a", "upstream_failed"))).toEqual([]);
  });

  test("A6: a try that is deferred goes on until now, alone, after other tries and within a group", () => {
    const waits = cell("a", "deferred", { try: 2, startedAt: at(10) });
    expect(barsOfCell(waits)).toEqual([{ try: 2, part: "ran", state: "deferred", from: ms(10), to: null }]);
    const first = { try: 1, state: "failed", queuedAt: null, startedAt: at(1), endedAt: at(4) } as Try;
    const second = { ...first, try: 2, state: "deferred", startedAt: at(10), endedAt: null } as Try;
    expect(barsOfTries([first, second], waits).map((bar) => [bar.try, bar.state, bar.to])).toEqual([
      [1, "failed", ms(4)],
      [2, "deferred", null],
    ]);
    expect(spanOfCells([waits], ms(50))).toEqual({ from: ms(10), to: ms(50) });
  });

  test("A6: a try that goes on after it was deferred has one bar, while it waits for a slot again, too", () => {
    const again = cell("a", "queued", { queuedAt: at(20), startedAt: at(10) });
    expect(barsOfCell(again)).toEqual([{ try: 1, part: "ran", state: "queued", from: ms(10), to: null }]);
  });

  test("earlier tries come before the cell's own, each with its state", () => {
    const own = cell("a", "success", { try: 2, queuedAt: at(9), startedAt: at(10), endedAt: at(12) });
    const first = {
      try: 1,
      state: "lost",
      queuedAt: at(0),
      startedAt: at(1),
      endedAt: at(4),
    } as Try;
    const second = {
      ...first,
      try: 2,
      state: "success",
      queuedAt: at(9),
      startedAt: at(10),
      endedAt: at(12),
    } as Try;
    expect(barsOfTries([first, second], own).map((bar) => [bar.try, bar.part, bar.state, bar.from])).toEqual([
      [1, "queued", "lost", ms(0)],
      [1, "ran", "lost", ms(1)],
      [2, "queued", "success", ms(9)],
      [2, "ran", "success", ms(10)],
    ]);
  });

  test("the span goes from the first request to the last end, and to now while the run is under way", () => {
    const cells = [cell("a", "success", { queuedAt: at(1), startedAt: at(2), endedAt: at(30) })];
    expect(spanOf({ queuedAt: at(0), endedAt: at(20), cells }, 0)).toEqual({ from: ms(0), to: ms(30) });
    expect(spanOf({ queuedAt: at(0), endedAt: null, cells }, ms(50))).toEqual({ from: ms(0), to: ms(50) });
    expect(spanOfCells([cell("a", "queued")], 0)).toBeNull();
    expect(spanOfCells([...cells, cell("b", "running", { startedAt: at(10) })], ms(50))).toEqual({
      from: ms(2),
      to: ms(50),
    });
  });
});

describe("the time axis", () => {
  const texts = (from: string, to: string, zone: string, most = 6): string[] =>
    axisOf(Date.parse(from), Date.parse(to), zone, most).map((tick) => tick.text);

  test.each([
    ["2026-05-09T10:00:03Z", "2026-05-09T10:00:23Z", "UTC", ["10:00:05", "10:00:10", "10:00:15", "10:00:20"]],
    [
      "2026-05-09T10:00:00Z",
      "2026-05-09T10:00:01Z",
      "UTC",
      ["10:00:00.000", "10:00:00.200", "10:00:00.400", "10:00:00.600", "10:00:00.800", "10:00:01.000"],
    ],
    [
      "2026-05-09T20:00:00Z",
      "2026-05-10T02:00:00Z",
      "Europe/Berlin",
      ["22:00", "23:00", "05-10 00:00", "01:00", "02:00", "03:00", "04:00"],
    ],
    ["2026-05-09T10:10:00Z", "2026-05-09T13:40:00Z", "Asia/Kolkata", ["16:00", "17:00", "18:00", "19:00"]],
  ])("%s to %s in %s", (from, to, zone, expected) => {
    expect(texts(from, to, zone)).toEqual(expected);
  });

  test("nights when the clocks change: each text is what the clocks show then, in order of time", () => {
    for (const day of ["2026-03-29", "2026-10-25"]) {
      const ticks = axisOf(
        Date.parse(`${day}T00:00:00Z`) - 3_600_000,
        Date.parse(`${day}T05:00:00Z`),
        "Europe/Berlin",
        9,
      );
      const shown = ticks.map(({ at: tick }) =>
        new Intl.DateTimeFormat("en-GB", {
          timeZone: "Europe/Berlin",
          hour: "2-digit",
          minute: "2-digit",
        }).format(tick),
      );
      expect(ticks.map((tick) => tick.text.slice(-5))).toEqual(shown);
      expect(ticks.map((tick) => tick.at)).toEqual(ticks.map((tick) => tick.at).toSorted((a, b) => a - b));
    }
  });

  test("at most as many ticks as there is room for, over any span", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 * 86_400_000 }),
        fc.integer({ min: 2, max: 15 }),
        (span, most) => {
          const from = Date.UTC(2026, 0, 3, 4, 5, 6);
          expect(axisOf(from, from + span, "America/New_York", most).length).toBeLessThanOrEqual(most + 1);
        },
      ),
    );
  });
});

describe("code", () => {
  test("TypeScript keeps its text, line by line, with tones", () => {
    const source = 'const a: string = `x\n${1}`; // end\n\nfoo("b")';
    const lines = highlight(source, "dags/a.ts");
    expect(lines.map((line) => line.map((piece) => piece.text).join("")).join("\n")).toBe(source);
    expect(lines[0]?.[0]).toEqual({ text: "const", tone: "tok-keyword" });
    expect(lines[1]?.at(-1)?.tone).toBe("tok-comment");
    expect(highlight("a: 1\n", "x.yaml")).toEqual([[{ text: "a: 1", tone: "" }], []]);
  });

  test("a hunk's lines are coloured by their own side and keep their text", () => {
    const hunk = [
      " const a = 1;",
      '-foo("old");',
      '+foo("new"); // why',
      " bar();",
      "\\ No newline at end of file",
    ];
    const lines = highlightHunk(hunk, "a.ts").map((line) => line.map((piece) => piece.text).join(""));
    expect(lines.slice(0, 4)).toEqual(["const a = 1;", 'foo("old");', 'foo("new"); // why', "bar();"]);
  });

  test("B2: changes of the graph in words", () => {
    const said = sayChanges({
      dag: [{ field: "timetable.cron", before: "0 2 * * *", after: "0 3 * * *" }],
      groups: [{ id: "g", change: "added", fields: [] }],
      tasks: [
        { id: "load", change: "changed", fields: [{ field: "retryDelayMs", before: 5000, after: 60_000 }] },
        { id: "old", change: "changed", fields: [{ field: "label", before: undefined, after: "" }] },
      ],
      edges: [{ from: "a", to: "load", change: "removed", fields: [] }],
    });
    expect(said.map(({ change, what }) => `${change} ${what}`)).toEqual([
      "changed DAG",
      "added group g",
      "changed task load",
      "changed task old",
      "removed load no longer waits for a",
    ]);
    expect(said[2]?.fields).toEqual([{ name: "retry delay", before: "5 s", after: "1 min" }]);
    expect(said[3]?.fields).toEqual([{ name: "label", before: "absent", after: "empty" }]);
  });
});
