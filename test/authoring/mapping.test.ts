import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { dag, skip, task, taskGroup } from "../../authoring/index.ts";
import type { Dag, TaskRef } from "../../authoring/index.ts";
import { renderTask, runDag, runTask } from "../../authoring/testing.ts";

const nothing = (): void => {};
const inDag = (build: () => void): Dag => dag("sales", {}, build);
const byId = ({ graph }: Dag, id: string) => graph.tasks.find((one) => one.id === id)!;
const upstreamOf = (made: Dag, id: string): string[] =>
  byId(made, id).upstream.map((up) => made.graph.tasks[up]!.id);

/** As someone without the compiler's help writes it. */
const loose = { task, taskGroup } as unknown as Record<
  "task" | "taskGroup",
  (...args: unknown[]) => TaskRef<never[]>
>;

function errorOf(build: () => void): { code: string; message: string } {
  try {
    inDag(build);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
}

describe("A7: a mapped task", () => {
  test("A7: in the graph: its lists, its items, its bounds; it waits for its lists", () => {
    const made = inDag(() => {
      const files = task("files", () => ["a", "b"]);
      task("first", nothing);
      task(
        "load",
        {
          expand: { file: files, day: ["mon", "tue"] },
          maxMapped: 10,
          maxActivePerRun: 2,
          after: [task("gate", nothing)],
        },
        nothing,
      );
      task("zip", { expand: { n: [1, 2], t: ["a", "b"] }, expandBy: "zip" }, nothing);
      task("batch", { expand: { files }, batch: 25 }, nothing);
    });
    expect(made.graph.maps).toEqual([
      {
        group: null,
        over: { file: 0, day: ["mon", "tue"] },
        names: ["file", "day"],
        how: "product",
        batch: null,
        max: 10,
      },
      {
        group: null,
        over: { n: [1, 2], t: ["a", "b"] },
        names: ["n", "t"],
        how: "zip",
        batch: null,
        max: 1024,
      },
      { group: null, over: { files: 0 }, how: "product", batch: 25, max: 1024 },
    ]);
    expect(byId(made, "load")).toMatchObject({ map: 0, items: { file: "file", day: "day" }, concurrency: 2 });
    expect(upstreamOf(made, "load")).toEqual(["files", "gate"]);
    expect(byId(made, "batch")).toMatchObject({ map: 2, items: { files: "files" }, inputs: {} });
  });

  test("A7: a graph without maps is as it was", () => {
    const { graph } = inDag(() => void task("a", nothing));
    expect("maps" in graph).toBe(false);
    expect(Object.keys(graph.tasks[0]!)).not.toContain("map");
  });

  test("A7: a run: items to the instances, inputs from outside whole, the list to the reducer", async () => {
    const made = inDag(() => {
      const files = task("files", () => [{ path: "a" }, { path: "bb" }, { path: "ccc" }]);
      const prefix = task("prefix", () => "x/");
      const loads = task("load", { expand: { file: files }, inputs: { prefix } }, ({ inputs, mapIndex }) => ({
        at: mapIndex,
        path: inputs.prefix + inputs.file.path,
      }));
      task("paths", { inputs: { loads } }, ({ inputs, mapIndex }) => [
        mapIndex,
        ...inputs.loads.map(({ at, path }) => `${at} ${path}`),
      ]);
    });
    const run = await runDag(made);
    expect(run.state).toBe("success");
    expect(Object.keys(run.tasks)).toEqual(["files", "prefix", "load[0]", "load[1]", "load[2]", "paths"]);
    expect(run.tasks["paths"]?.output).toEqual([null, "0 x/a", "1 x/bb", "2 x/ccc"]);
  });

  test("A7: 300 files in batches of 25 are 12 instances, each retried alone", async () => {
    const made = inDag(() => {
      const files = task("files", () => Array.from({ length: 300 }, (_, i) => i));
      const loads = task(
        "load",
        { expand: { files }, batch: 25, retries: 1, retryDelay: 0 },
        ({ inputs, mapIndex, tryNumber }) => {
          if (mapIndex === 4 && tryNumber === 1) throw new Error("once");
          return inputs.files.length;
        },
      );
      task("sum", { inputs: { loads } }, ({ inputs }) => inputs.loads);
    });
    const run = await runDag(made);
    expect(run.tasks["sum"]?.output).toEqual(Array.from({ length: 12 }, () => 25));
    const tries = Object.entries(run.tasks).flatMap(([id, { tries: n }]) =>
      id.startsWith("load") ? [n] : [],
    );
    expect(tries).toEqual([1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1]);
  });

  test("A7: over a mapped task; combinations, the last list turning fastest", async () => {
    const made = inDag(() => {
      const doubled = task("doubled", { expand: { n: [1, 2] } }, ({ inputs }) => inputs.n * 2);
      const pairs = task(
        "pair",
        { expand: { d: doubled, t: ["x", "y"] } },
        ({ inputs }) => inputs.t + inputs.d,
      );
      task("all", { inputs: { pairs } }, ({ inputs }) => inputs.pairs);
    });
    expect((await runDag(made)).tasks["all"]?.output).toEqual(["x2", "y2", "x4", "y4"]);
  });

  test("A7: maxActivePerRun bounds the instances at once", async () => {
    let now = 0;
    let most = 0;
    const made = inDag(() => {
      task("t", { expand: { n: [1, 2, 3, 4, 5, 6] }, maxActivePerRun: 2 }, async () => {
        most = Math.max(most, ++now);
        await pause(5);
        now -= 1;
      });
    });
    expect((await runDag(made)).state).toBe("success");
    expect(most).toBe(2);
  });

  test("K26: an empty list: one skipped cell; reducers by their rules, with []", async () => {
    const made = inDag(() => {
      const none = task("none", (): number[] => []);
      const loads = task("load", { expand: { n: none } }, ({ inputs }) => inputs.n);
      for (const triggerRule of [
        "all_success",
        "none_failed",
        "all_done",
        "none_failed_min_one_success",
      ] as const) {
        task(triggerRule, { inputs: { loads }, triggerRule }, ({ inputs }) => inputs.loads);
      }
    });
    const { tasks } = await runDag(made);
    expect(Object.entries(tasks).map(([id, { state, output }]) => [id, state, output])).toEqual([
      ["none", "success", []],
      ["load", "skipped", undefined],
      ["all_success", "skipped", undefined],
      ["none_failed", "success", []],
      ["all_done", "success", []],
      ["none_failed_min_one_success", "skipped", undefined],
    ]);
  });

  test("K43: reducing over partly skipped instances: what is there, in the order of indexes; never null", async () => {
    const made = (skips: (n: number) => boolean) =>
      inDag(() => {
        const loads = task("load", { expand: { n: [0, 1, 2, 3, 4] } }, async ({ inputs }) => {
          if (skips(inputs.n)) skip();
          await pause(10 - 2 * inputs.n);
          return `v${inputs.n}`;
        });
        for (const triggerRule of ["none_failed", "all_done", "all_success"] as const) {
          task(triggerRule, { inputs: { loads }, triggerRule }, ({ inputs }) => inputs.loads);
        }
      });
    const some = (await runDag(made((n) => n % 2 === 1))).tasks;
    expect([some["none_failed"]?.output, some["all_success"]?.state]).toEqual([
      ["v0", "v2", "v4"],
      "skipped",
    ]);
    const none = (await runDag(made(() => true))).tasks;
    expect([none["none_failed"]?.output, none["all_done"]?.output, none["all_success"]?.state]).toEqual([
      [],
      [],
      "skipped",
    ]);
  });

  test("K41: the limit and what is no list", async () => {
    const over = (value: unknown) =>
      inDag(() => {
        const list = loose.task("list", () => value);
        task("load", { expand: { n: list } }, nothing);
      });
    const errorFor = async (value: unknown) => (await runDag(over(value))).tasks["load"]?.error?.message;
    const fits = await runDag(over(Array.from({ length: 1024 }, (_, i) => i)));
    expect([fits.state, Object.keys(fits.tasks).length]).toEqual(["success", 1025]);
    expect(await errorFor(Array.from({ length: 1025 }, (_, i) => i))).toBe(
      'list "n" (the output of task "list") would give 1025 instances, and at most 1024 are allowed: raise maxMapped, or map in batches',
    );
    expect(await errorFor("abc")).toContain('is the text "abc"; expected a list');
    expect(await errorFor(null)).toContain("is null; expected a list");
    expect(await errorFor(undefined)).toContain("expected a list");
  });

  test("A7 A2: a template of each instance", async () => {
    const made = inDag(() => {
      const templates = { path: "{{ ds }}/{{ map_index }}.csv" };
      const paths = task(
        "path",
        { expand: { n: ["a", "b"] }, templates },
        (context) => context.templates.path,
      );
      task("all", { inputs: { paths }, templates }, ({ inputs, templates: { path } }) => [
        ...inputs.paths,
        path,
      ]);
    });
    const { tasks } = await runDag(made, { logicalAt: "2026-05-09" });
    expect(tasks["all"]?.output).toEqual(["2026-05-09/0.csv", "2026-05-09/1.csv", "2026-05-09/-1.csv"]);
    expect(await renderTask(made, "path", { logicalAt: "2026-05-09", mapIndex: 7 })).toEqual({
      path: "2026-05-09/7.csv",
    });
  });

  test("F1: one instance alone: its item is given", async () => {
    const made = inDag(() => {
      task("load", { expand: { n: [1, 2] }, triggerRule: "all_done" }, ({ inputs, mapIndex }) => [
        inputs.n,
        mapIndex,
      ]);
    });
    expect((await runTask(made, "load", { inputs: { n: 7 } })).output).toEqual([7, 0]);
    expect((await runTask(made, "load", { inputs: { n: 7 }, mapIndex: 3 })).output).toEqual([7, 3]);
    await expect(runTask(made, "load")).rejects.toMatchObject({ code: "input_missing" });
  });
});

describe("A7: a mapped group", () => {
  const group = () =>
    inDag(() => {
      const files = task("files", () => [0, 1, 2, 3, 4, 5]);
      const gate = task("gate", nothing);
      const load = taskGroup("load", { expand: { n: files } }, ({ n }) => {
        const a = task("a", { inputs: { n }, retries: 1, retryDelay: 0 }, async ({ inputs, tryNumber }) => {
          if (inputs.n === 4) skip();
          if (inputs.n === 2 && tryNumber === 1) throw new Error("once");
          await pause(6 - inputs.n);
          return `a${inputs.n}`;
        });
        const b = task("b", { inputs: { a } }, ({ inputs, mapIndex }) => `${inputs.a} b${mapIndex}`);
        taskGroup("inner", () => void task("c", { inputs: { b } }, nothing));
        return { b };
      });
      gate.before(load);
      task(
        "sum",
        { inputs: { all: load.returned.b }, triggerRule: "none_failed", after: [load] },
        ({ inputs }) => inputs.all,
      );
    });

  test("A7: in the graph: all inside has the map, what it begins with waits for the lists", () => {
    const made = group();
    expect(made.graph.maps).toEqual([{ group: 0, over: { n: 0 }, how: "product", batch: null, max: 1024 }]);
    expect(made.graph.tasks.map(({ id, map, items }) => [id, map, items])).toEqual([
      ["files", undefined, undefined],
      ["gate", undefined, undefined],
      ["load.a", 0, { n: "n" }],
      ["load.b", 0, undefined],
      ["load.inner.c", 0, undefined],
      ["sum", undefined, undefined],
    ]);
    expect(upstreamOf(made, "load.a")).toEqual(["files", "gate"]);
    expect(upstreamOf(made, "load.b")).toEqual(["load.a"]);
    expect(upstreamOf(made, "sum")).toEqual(["load.b", "load.inner.c"]);
  });

  test("K42: chains keep their index, whatever ends first", async () => {
    const { tasks, state } = await runDag(group());
    expect(state).toBe("success");
    expect([tasks["load.b[4]"]?.state, tasks["load.inner.c[4]"]?.state]).toEqual(["skipped", "skipped"]);
    expect(tasks["sum"]?.output).toEqual(["a0 b0", "a1 b1", "a2 b2", "a3 b3", "a5 b5"]);
    expect(tasks["load.a[2]"]?.tries).toBe(2);
  });
});

describe("A7: errors at definition", () => {
  const files = (): TaskRef<number[]> => task("files", () => [1]);
  const cases: readonly [string, () => void, string, readonly string[]][] = [
    [
      "a mapped task in a mapped group",
      () => taskGroup("g", { expand: { n: files() } }, () => void task("t", { expand: { m: [1] } }, nothing)),
      "nested_map",
      ['task "g.t"', 'group "g"', "only one of them can be"],
    ],
    [
      "a mapped group in a mapped group, however deep",
      () =>
        taskGroup("g", { expand: { n: files() } }, () =>
          taskGroup("h", () => taskGroup("i", { expand: { m: [1] } }, () => void task("t", nothing))),
        ),
      "nested_map",
      ['group "g.h.i"', 'group "g"'],
    ],
    [
      "a batch of two lists",
      () => task("t", { expand: { a: [1], b: [2] }, batch: 2 }, nothing),
      "bad_option",
      ['task "t"', '"batch"', "a, b"],
    ],
    [
      "batch without expand",
      () => task("t", { batch: 2 }, nothing),
      "not_mapped",
      ['"batch"', "expand: { file: files }"],
    ],
    [
      "maxActivePerRun without a map",
      () => task("t", { maxActivePerRun: 2 }, nothing),
      "not_mapped",
      ['"maxActivePerRun"', "expand"],
    ],
    [
      "one name in inputs and expand",
      () => task("t", { inputs: { a: files() }, expand: { a: [1] } }, nothing),
      "bad_option",
      ['"a" is in inputs and in expand'],
    ],
    [
      "a list that JSON would change",
      () => loose.task("t", { expand: { day: ["x", new Date(0)] } }, nothing),
      "bad_option",
      ['list "day" of expand', "list[1] is a Date", "toISOString"],
    ],
    [
      "a list too large for the graph",
      () => task("t", { expand: { n: Array.from({ length: 20_000 }, (_, i) => i) } }, nothing),
      "bad_option",
      ['list "n"', "64 KiB", "let a task return it"],
    ],
    [
      "more than maxMapped, known now",
      () => task("t", { expand: { a: [1, 2], b: [1, 2] }, maxMapped: 3 }, nothing),
      "too_many_instances",
      ['task "t"', "4 instances", "at most 3"],
    ],
    [
      "zipped lists of different lengths, known now",
      () => task("t", { expand: { a: [1, 2], b: [1] }, expandBy: "zip" }, nothing),
      "zip_lengths",
      ['list "a" has 2', 'list "b" has 1'],
    ],
    [
      "what is no list",
      () => loose.task("t", { expand: { n: "abc" } }, nothing),
      "unknown_upstream",
      ['list "n" of expand is "abc"'],
    ],
    [
      "a group as a list",
      () => loose.task("t", { expand: { n: taskGroup("g", () => void task("a", nothing)) } }, nothing),
      "group_input",
      ['list "n" of expand is group "g"'],
    ],
    [
      "an item outside its group",
      () => {
        let kept: unknown;
        taskGroup("g", { expand: { n: files() } }, ({ n }) => {
          kept = n;
          task("a", nothing);
        });
        loose.task("t", { inputs: { kept } }, nothing);
      },
      "foreign_item",
      ['task "t": input "kept"', 'mapped group "g"', "inside that group"],
    ],
    [
      "an item as order",
      () =>
        taskGroup("g", { expand: { n: files() } }, ({ n }) => void loose.task("a", { after: [n] }, nothing)),
      "foreign_item",
      ['task "g.a": option "after"'],
    ],
  ];
  test.each(cases)("A7: %s", (_title, build, code, parts) => {
    const error = errorOf(build);
    expect(error.code).toBe(code);
    expect(error.message).toContain('dag "sales"');
    for (const part of parts) expect(error.message).toContain(part);
  });

  test("A7: a constant list is copied: what becomes of it later changes nothing", () => {
    const list = [1, 2];
    const made = inDag(() => {
      task("t", { expand: { n: list } }, nothing);
      list.push(3);
    });
    expect(made.graph.maps![0]!.over["n"]).toEqual([1, 2]);
  });
});
