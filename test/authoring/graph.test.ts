import { describe, expect, test, vi } from "vitest";
import { collect } from "../../authoring/collect.ts";
import { dag, task } from "../../authoring/index.ts";
import { canonicalJson } from "../../core/canonical.ts";

describe("A1: a DAG becomes a serial graph", () => {
  test("positions follow the order of definition, upstream ascends, inputs name positions", () => {
    const made = dag("sales", { schedule: null }, () => {
      const a = task("a", () => 1);
      const b = task("b", { inputs: { a } }, () => "b");
      const c = task("c", { inputs: { b, again: a }, after: [a] }, () => {});
      const last = task("last", () => {});
      last.after(c, b).before();
      a.before(last);
    });
    expect(made.graph.tasks.map(({ id, upstream, inputs }) => ({ id, upstream, inputs }))).toEqual([
      { id: "a", upstream: [], inputs: {} },
      { id: "b", upstream: [0], inputs: { a: 0 } },
      { id: "c", upstream: [0, 1], inputs: { b: 1, again: 0 } },
      { id: "last", upstream: [0, 1, 2], inputs: {} },
    ]);
    expect(made.bodyOf("b")?.({} as never)).toBe("b");
    expect(made.bodyOf("missing")).toBeUndefined();
    expect(made.bodyOf("toString")).toBeUndefined();
  });

  test("defaults, in the units of the graph", () => {
    const { graph } = dag("plain", () => void task("only", () => {}));
    expect(graph, "options may be left out").toEqual(
      dag("plain", {}, () => void task("only", () => {})).graph,
    );
    expect(graph).toEqual({
      format: 1,
      dagId: "plain",
      description: "",
      doc: "",
      params: null,
      groups: [],
      owner: "",
      tags: [],
      timetable: { kind: "manual" },
      zone: "UTC",
      startDate: null,
      endDate: null,
      catchup: false,
      maxActiveRuns: 16,
      tasks: [
        {
          id: "only",
          label: "",
          group: null,
          templates: {},
          upstream: [],
          inputs: {},
          triggerRule: "all_success",
          retries: 0,
          retryDelayMs: 300_000,
          retryFactor: 1,
          retryMaxDelayMs: null,
          executionTimeoutMs: null,
          pool: "default_pool",
          poolSlots: 1,
          priorityWeight: 1,
          queue: "default",
          isolation: "shared",
          doc: "",
        },
      ],
    });
  });

  test("every option arrives; the task's own outweighs the DAG's default, and undefined counts as not given", () => {
    const { graph } = dag(
      "full",
      {
        schedule: "30 2 * * *",
        zone: "Europe/Berlin",
        startDate: "2026-01-01",
        endDate: new Date("2026-02-01T00:00:00Z"),
        catchup: true,
        maxActiveRuns: 3,
        description: "Short.",
        doc: "Long.",
        owner: "ana",
        tags: ["x", "y", "x"],
        defaults: { retries: 3, retryDelay: "1.5s", pool: "warehouse", queue: "big" },
      },
      () => {
        task(
          "own",
          { retries: 1, retryDelay: 250, retryFactor: 2, maxRetryDelay: "1h", executionTimeout: "5m" },
          () => {},
        );
        task(
          "other",
          {
            retries: undefined,
            pool: "p",
            poolSlots: 2,
            priorityWeight: -5,
            queue: "q",
            isolation: "own",
            triggerRule: "always",
            doc: "d",
          },
          () => {},
        );
      },
    );
    expect(graph).toMatchObject({
      timetable: { kind: "cron", cron: "30 2 * * *", zone: "Europe/Berlin" },
      startDate: "2025-12-31T23:00:00Z",
      endDate: "2026-02-01T00:00:00Z",
      catchup: true,
      maxActiveRuns: 3,
      description: "Short.",
      doc: "Long.",
      owner: "ana",
      tags: ["x", "y"],
    });
    expect(graph.tasks[0]).toMatchObject({
      retries: 1,
      retryDelayMs: 250,
      retryFactor: 2,
      retryMaxDelayMs: 3_600_000,
      executionTimeoutMs: 300_000,
      pool: "warehouse",
      queue: "big",
    });
    expect(graph.tasks[1]).toMatchObject({
      retries: 3,
      retryDelayMs: 1500,
      pool: "p",
      poolSlots: 2,
      priorityWeight: -5,
      queue: "q",
      isolation: "own",
      triggerRule: "always",
      doc: "d",
    });
  });

  test.each([
    ["@daily", { kind: "cron", cron: "0 0 * * *", zone: "UTC" }],
    [{ every: "10m" }, { kind: "interval", everyMs: 600_000, anchor: "1970-01-01T00:00:00Z" }],
    [
      { every: 90_000, anchor: "2026-01-01T06:00" },
      { kind: "interval", everyMs: 90_000, anchor: "2026-01-01T06:00:00Z" },
    ],
    [null, { kind: "manual" }],
    [undefined, { kind: "manual" }],
  ] as const)("schedule %j", (schedule, timetable) => {
    expect(dag("s", { schedule }, () => {}).graph.timetable).toEqual(timetable);
  });

  test("the same definition gives the same bytes, in whatever order options are written", () => {
    const first = dag("same", { owner: "o", schedule: "@daily" }, () => {
      const a = task("a", { retries: 1, pool: "p" }, () => 1);
      task("b", { inputs: { x: a, y: a } }, () => {});
    });
    const second = dag("same", { schedule: "@daily", owner: "o" }, () => {
      const a = task("a", { pool: "p", retries: 1 }, () => 2);
      task("b", { inputs: { y: a, x: a } }, () => {});
    });
    expect(canonicalJson(first.graph)).toBe(canonicalJson(second.graph));
  });

  test("a graph is plain JSON", () => {
    const { graph } = dag("plain", { startDate: new Date(0) }, () => void task("a", () => {}));
    expect(JSON.parse(JSON.stringify(graph))).toEqual(graph);
  });

  test("5,000 tasks in a chain are no burden", () => {
    const made = dag("long", {}, () => {
      let before = task("t0", () => 0);
      for (let i = 1; i < 5000; i++)
        before = task(`t${i}`, { inputs: { before } }, ({ inputs }) => inputs.before + 1);
    });
    expect(made.graph.tasks[4999]?.upstream).toEqual([4998]);
  });
});

describe("A1: the size of a DAG", () => {
  test("one that no run can carry is refused, with its size and what to do; a large one is not", () => {
    const wide = (tasks: number): void =>
      void dag(`wide_${tasks}`, { schedule: null }, () => {
        const roots = Array.from({ length: 20 }, (_, i) => task(`root_of_the_whole_${i}`, () => i));
        for (let i = 0; i < tasks; i++) task(`leaf_with_a_rather_long_name_${i}`, { after: roots }, () => i);
      });
    expect(() => wide(2_000)).not.toThrow();
    expect(() => wide(8_000)).toThrow(
      /^dag "wide_8000": its 8020 tasks and their edges are \d\.\d MB as JSON/,
    );
  });
});

describe("A1: collecting the DAGs of a file", () => {
  test("DAGs made in a loop, in order", async () => {
    const dags = await collect(async () => {
      for (const country of ["de", "fr", "it"]) {
        dag(`sales_${country}`, { schedule: "@daily" }, () => void task("load", () => country));
        await Promise.resolve();
      }
    });
    expect(dags.map(({ graph }) => graph.dagId)).toEqual(["sales_de", "sales_fr", "sales_it"]);
    expect(dags.map((made) => made.bodyOf("load")?.({} as never))).toEqual(["de", "fr", "it"]);
  });

  test("files that load at once do not mix, and a broken one harms only itself", async () => {
    const load = (id: string) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      dag(id, {}, () => {});
    };
    const broken = collect(async () => {
      await Promise.resolve();
      throw new Error("broken");
    });
    const [one, , two] = await Promise.all([
      collect(load("one")),
      expect(broken).rejects.toThrow("broken"),
      collect(load("two")),
    ]);
    expect([one, two].map((dags) => dags.map(({ graph }) => graph.dagId))).toEqual([["one"], ["two"]]);
  });

  test("a file whose loading never ends does not block the others for ever", async () => {
    vi.useFakeTimers();
    try {
      void collect(() => new Promise(() => {}));
      const next = collect(async () => void dag("next", {}, () => {}));
      await vi.advanceTimersByTimeAsync(60_000);
      expect((await next).map(({ graph }) => graph.dagId)).toEqual(["next"]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("nothing is collected when nobody asks", async () => {
    dag("stray", {}, () => {});
    expect(await collect(async () => {})).toEqual([]);
  });

  test("a duplicate id in one file", async () => {
    const twice = collect(async () => {
      dag("sales", {}, () => {});
      dag("sales", {}, () => {});
    });
    await expect(twice).rejects.toMatchObject({
      code: "duplicate_dag",
      message: expect.stringMatching(/^dag "sales": .*an id of its own/),
    });
  });
});

describe("canonicalJson", () => {
  test("sorts keys at every level, by code unit, and leaves absent values out", () => {
    expect(canonicalJson({ b: [{ z: 1, a: "é\n" }], a: undefined, B: null, "10": true, "9": -0 })).toBe(
      '{"10":true,"9":0,"B":null,"b":[{"a":"é\\n","z":1}]}',
    );
  });
  test("an own key named __proto__ is a key like others", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
  });
  test.each([[NaN], [1n], [() => 1], [[undefined]], [new Date(0)], [new Map()]])("refuses %s", (value) => {
    expect(() => canonicalJson({ value })).toThrow(TypeError);
  });
});
