import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dag, task, taskGroup } from "../../authoring/index.ts";
import type { Dag, GroupRef, TaskRef } from "../../authoring/index.ts";
import { runDag } from "../../authoring/testing.ts";

const nothing = (): void => {};
const edgesOf = ({ graph }: Dag): Record<string, string[]> =>
  Object.fromEntries(graph.tasks.map(({ id, upstream }) => [id, upstream.map((up) => graph.tasks[up]!.id)]));
const inDag = (build: () => void): Dag => dag("sales", {}, build);

describe("A1: task groups", () => {
  test("ids inside begin with the group's, also nested; prefix: false adds none of its own", () => {
    const { graph } = inDag(() => {
      taskGroup("load", { label: "Load", doc: "# Files" }, () => {
        task("rows", nothing);
        taskGroup("files", () => {
          task("rows", nothing);
          taskGroup("bare", { prefix: false }, () => void task("list", nothing));
        });
      });
      taskGroup("plain", { prefix: false }, () => {
        task("rows", nothing);
        taskGroup("inner", () => void task("rows", nothing));
      });
      task("last", { label: "The last", doc: "**md**" }, nothing);
    });
    expect(graph.groups).toEqual([
      { id: "load", parent: null, label: "Load", doc: "# Files" },
      { id: "load.files", parent: 0, label: "", doc: "" },
      { id: "load.files.bare", parent: 1, label: "", doc: "" },
      { id: "plain", parent: null, label: "", doc: "" },
      { id: "inner", parent: 3, label: "", doc: "" },
    ]);
    expect(graph.tasks.map(({ id, group }) => [id, group])).toEqual([
      ["load.rows", 0],
      ["load.files.rows", 1],
      ["load.files.list", 2],
      ["rows", 3],
      ["inner.rows", 4],
      ["last", null],
    ]);
    expect(graph.tasks.at(-1)).toMatchObject({ label: "The last", doc: "**md**" });
  });

  test("order with a group is order with the tasks it begins and ends with", () => {
    const made = inDag(() => {
      const first = task("first", nothing);
      const load = taskGroup("load", () => {
        const [a, b, c] = ["a", "b", "c"].map((id) => task(id, nothing));
        a!.before(b!);
        c!.after();
      });
      const store = taskGroup("store", () => {
        const x = task("x", nothing);
        task("y", { after: [x] }, nothing);
        task("z", { after: [x] }, nothing);
      });
      first.before(load);
      load.before(store);
      task("last", { after: [store] }, nothing);
      task("report", nothing).after(load, store);
    });
    expect(edgesOf(made)).toEqual({
      first: [],
      "load.a": ["first"],
      "load.b": ["load.a"],
      "load.c": ["first"],
      "store.x": ["load.b", "load.c"],
      "store.y": ["store.x"],
      "store.z": ["store.x"],
      last: ["store.y", "store.z"],
      report: ["load.b", "load.c", "store.y", "store.z"],
    });
  });

  test("whatever the order in which it was set: a group's ends depend on all the order inside", () => {
    const build = (late: boolean) =>
      inDag(() => {
        const refs: { inner?: GroupRef<unknown>; z?: TaskRef<unknown> } = {};
        const outer = taskGroup("outer", () => {
          refs.inner = taskGroup("inner", () => {
            task("p", nothing);
            task("q", nothing);
          });
          refs.z = task("z", nothing);
          if (!late) refs.inner.before(refs.z);
        });
        task("last", { after: [outer] }, nothing);
        if (late) refs.inner!.before(refs.z!);
      });
    expect(edgesOf(build(true))).toEqual(edgesOf(build(false)));
    expect(edgesOf(build(true))).toMatchObject({
      "outer.z": ["outer.inner.p", "outer.inner.q"],
      last: ["outer.z"],
    });
  });

  test("a group inside another may be ordered with its neighbours, and data edges count", () => {
    const made = inDag(() => {
      const load = taskGroup("load", () => {
        const rows = task("rows", () => [1, 2]);
        const check = taskGroup("check", () => void task("count", { inputs: { rows } }, nothing));
        task("done", { after: [check] }, nothing);
        return { rows };
      });
      task(
        "sum",
        { inputs: { rows: load.returned.rows }, after: [load] },
        ({ inputs }) => inputs.rows.length,
      );
    });
    expect(edgesOf(made)).toEqual({
      "load.rows": [],
      "load.check.count": ["load.rows"],
      "load.done": ["load.check.count"],
      sum: ["load.rows", "load.done"],
    });
  });

  test("defaults of a group outweigh the DAG's, a task's own outweigh both", () => {
    const { graph } = dag("sales", { defaults: { retries: 1, queue: "big" } }, () => {
      taskGroup("a", { defaults: { retries: 2, pool: "warehouse" } }, () => {
        task("t", nothing);
        taskGroup("b", { defaults: { retries: 3 } }, () => {
          task("t", nothing);
          task("own", { retries: 4, pool: "x" }, nothing);
        });
      });
      task("outside", nothing);
    });
    expect(graph.tasks.map(({ retries, pool, queue }) => [retries, pool, queue])).toEqual([
      [2, "warehouse", "big"],
      [3, "warehouse", "big"],
      [4, "x", "big"],
      [1, "default_pool", "big"],
    ]);
  });

  test("the functions given to dag() are those of that DAG", async () => {
    const made = dag("sales", {}, (tools) => {
      tools.taskGroup("load", () => {
        const one = tools.task("one", () => 1);
        task("two", { inputs: { one } }, ({ inputs, taskId }) => [inputs.one, taskId]);
      });
    });
    const run = await runDag(made);
    expect(run.tasks["load.two"]?.output).toEqual([1, "load.two"]);
  });

  test("the same file gives the same graph, made in a loop too", () => {
    const build = () =>
      ["berlin", "seattle"].map((city) =>
        dag(`rain_${city}`, {}, () => {
          const groups = ["a", "b", "c"].map((id) =>
            taskGroup(id, () => {
              for (const n of [1, 2, 3]) task(`t${n}`, () => city);
            }),
          );
          groups.forEach((group, i) => i > 0 && group.after(groups[i - 1]!));
        }),
      );
    expect(build().map(({ graph }) => graph)).toEqual(build().map(({ graph }) => graph));
    expect(build().map(({ id }) => id)).toEqual(["rain_berlin", "rain_seattle"]);
    expect(edgesOf(build()[0]!)["b.t1"]).toEqual(["a.t1", "a.t2", "a.t3"]);
  });

  test("a thousand groups in a chain are no burden", () => {
    const made = inDag(() => {
      let before: GroupRef<void> | undefined;
      for (let i = 0; i < 1000; i++) {
        const group = taskGroup(`g${i}`, () => {
          for (const id of ["a", "b", "c"]) task(id, nothing);
        });
        if (before !== undefined) group.after(before);
        before = group;
      }
    });
    expect(edgesOf(made)["g999.c"]).toEqual(["g998.a", "g998.b", "g998.c"]);
  });
});

/** Tasks and groups as a tree: a number is a task, a list a group of what is in it. */
type Tree = number | readonly Tree[];
const trees = fc.letrec<{ tree: Tree; group: readonly Tree[] }>((tie) => ({
  tree: fc.oneof({ depthSize: "small", withCrossShrink: true }, fc.constant(0), tie("group")),
  group: fc.array(tie("tree"), { minLength: 1, maxLength: 4 }),
})).group;

describe("A1: order with groups, over random DAGs", () => {
  test("all of the later waits for all of the earlier, and nothing is ordered that need not be", () => {
    fc.assert(
      fc.property(trees, fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }), (tree, picks) => {
        /** Each with the ids of the tasks in it, by order of definition. */
        const steps: { ref: TaskRef<unknown> | GroupRef<unknown>; tasks: string[] }[] = [];
        const pairs: [string[], string[]][] = [];
        const made = inDag(() => {
          const define = (node: Tree): string[] => {
            const id = `n${steps.length}`;
            const at = steps.push({ ref: undefined as never, tasks: [] }) - 1;
            const inside: string[] = [];
            const ref =
              typeof node === "number"
                ? task(id, nothing)
                : taskGroup(id, { prefix: false }, () => void inside.push(...node.flatMap(define)));
            steps[at] = { ref, tasks: typeof node === "number" ? [id] : inside };
            return steps[at].tasks;
          };
          tree.forEach(define);
          for (const [a, b] of picks) {
            const [from, to] = [steps[a % steps.length]!, steps[b % steps.length]!];
            // Only forwards and between strangers: anything else is a circle.
            const isForward = from.tasks.every((id) => to.tasks.every((other) => rank(id) < rank(other)));
            if (!isForward) continue;
            from.ref.before(to.ref);
            pairs.push([from.tasks, to.tasks]);
          }
        });
        const edges = edgesOf(made);
        const before = new Map<string, Set<string>>();
        for (const { id } of made.graph.tasks) {
          before.set(id, new Set(edges[id]!.flatMap((up) => [up, ...before.get(up)!])));
        }
        for (const [from, to] of pairs) {
          for (const later of to) expect([...before.get(later)!]).toEqual(expect.arrayContaining(from));
        }
        for (const { id } of made.graph.tasks) {
          for (const up of edges[id]!) {
            expect(pairs.some(([from, to]) => from.includes(up) && to.includes(id))).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
  const rank = (id: string): number => Number(id.slice(1));
});

describe("A1: errors of groups name DAG and group and what to do", () => {
  const group = taskGroup as unknown as (...args: unknown[]) => GroupRef<{ a: TaskRef<never> }>;
  const one = () => ({ a: task("a", nothing) });
  const cases: readonly [string, () => void, string, readonly string[]][] = [
    ["an empty group", () => group("g", () => {}), "empty_group", ['dag "sales", group "g": it has no task']],
    [
      "an empty group in another",
      () => group("g", () => void (task("a", nothing), group("h", () => {}))),
      "empty_group",
      ['group "g.h"'],
    ],
    [
      "a double group",
      () => (group("g", one), group("g", one)),
      "duplicate_group",
      ["another group of the DAG"],
    ],
    [
      "a double task in a group",
      () => group("g", () => (one(), one())),
      "duplicate_task",
      ['task "g.a"', "another task of the DAG"],
    ],
    [
      "a task's id",
      () => (task("g", nothing), group("g", one)),
      "id_clash",
      ['group "g"', "taken by a task"],
    ],
    [
      "a group's id",
      () => (group("g", one), task("g", nothing)),
      "id_clash",
      ['task "g"', "taken by a group"],
    ],
    [
      "two groups without prefix",
      () => (group("g", { prefix: false }, one), group("h", { prefix: false }, one)),
      "duplicate_task",
      ['task "a"'],
    ],
    ["an id too long with its prefix", () => group("g".repeat(199), one), "bad_id", ["1 to 200 letters"]],
    ["a bad id", () => group("a b", one), "bad_id", ['group id "a b"']],
    [
      "no function",
      () => group("g", {}),
      "bad_group",
      ["its function is missing; expected one that defines its tasks, as the last argument"],
    ],
    ["an async function", () => group("g", async () => void one()), "async_group", ["make it synchronous"]],
    [
      "a misspelt option",
      () => group("g", { lable: "x" }, one),
      "unknown_option",
      ['group "g": option "lable" does not exist; did you mean "label"?'],
    ],
    [
      "a misspelt default",
      () => group("g", { defaults: { retires: 1 } }, one),
      "unknown_option",
      ['group "g": defaults: option "retires" does not exist; did you mean "retries"?'],
    ],
    [
      "a task after the group that holds it",
      () => {
        const g = group("g", one);
        g.returned.a.after(g);
      },
      "cycle",
      ['task "g.a": .after(): group "g" and what it holds cannot wait for each other'],
    ],
    ["a group after itself", () => void ((g) => g.after(g))(group("g", one)), "cycle", ["itself"]],
    [
      "two groups that wait for each other",
      () => {
        const [g, h] = [group("g", one), group("h", one)];
        g.after(h).before(h);
      },
      "cycle",
      ["g.a -> h.a -> g.a"],
    ],
    [
      "a group as an input",
      () => (task as (...args: unknown[]) => unknown)("t", { inputs: { rows: group("g", one) } }, nothing),
      "group_input",
      ['input "rows" is group "g", which has no output', "group.returned.rows"],
    ],
    [
      "an id in place of a group",
      () => (group("load", one), group("g", one).after("laod" as never)),
      "unknown_upstream",
      ['did you mean "load"?'],
    ],
    [
      "every task of many after every one of many",
      () => {
        const many = () => Array.from({ length: 1000 }, (_, i) => task(`t${i}`, nothing));
        group("g", many).before(group("h", many));
      },
      "graph_too_large",
      ["every one of 1000 tasks", "put one task between them"],
    ],
  ];
  test.each(cases)("%s", (_, build, code, parts) => {
    expect(() => inDag(build)).toThrow(expect.objectContaining({ code, name: "DefinitionError" }));
    for (const part of parts) expect(() => inDag(build)).toThrow(part);
  });

  test("outside of a DAG, of another DAG, after its DAG is complete", () => {
    expect(() => group("g", one)).toThrow(
      "outside of any DAG; call taskGroup() inside the function given to dag()",
    );
    let other: GroupRef<unknown> | undefined;
    let tools: { task: (...args: never[]) => unknown } | undefined;
    dag("other", {}, (given) => {
      other = group("g", one);
      tools = given;
    });
    expect(() => inDag(() => void task("t", nothing).after(other!))).toThrow(
      'is group "g" of dag "other"; expected a group of the same DAG',
    );
    expect(() => (tools!.task as (...args: unknown[]) => unknown)("late", nothing)).toThrow(
      'dag "other", task "late": the DAG is complete already',
    );
    expect(() => other!.before(other!)).toThrow("the DAG is complete already");
  });
});
