import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sayChanges } from "../../web/src/code/change-words.ts";
import { highlight, highlightHunk } from "../../web/src/code/highlight.ts";
import { layOut, type Layout } from "../../web/src/graph/layout.ts";
import { centresOf, neighbour } from "../../web/src/graph/moves.ts";
import { statesOf, tallyOf } from "../../web/src/graph/states.ts";
import { groupKey, sightOf, taskKey } from "../../web/src/graph/tree.ts";
import { cell } from "./fixtures/cell.ts";
import { NESTED, shape } from "./fixtures/nested.ts";

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
