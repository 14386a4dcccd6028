import { describe, expect, test } from "vitest";
import { dag, task } from "../../authoring/index.ts";
import type { TaskRef } from "../../authoring/index.ts";

/** As someone without the compiler's help writes it. */
const looseDag = dag as (...args: unknown[]) => unknown;
const looseTask = task as unknown as (...args: unknown[]) => TaskRef<never>;
const nothing = (): void => {};

function errorOf(define: () => unknown): { code: string; message: string; name: string } {
  try {
    define();
  } catch (error) {
    return error as { code: string; message: string; name: string };
  }
  throw new Error("nothing was thrown");
}

const inSales = (build: () => unknown, options: unknown = {}) =>
  errorOf(() => looseDag("sales", options, () => void build()));

describe("A1: errors at definition name DAG and task and what to do", () => {
  test("a circle names its path", () => {
    const error = inSales(() => {
      const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => task(id, nothing));
      a!.before(b!);
      b!.before(c!, d!);
      c!.before(b!);
    });
    expect(error).toMatchObject({ name: "DefinitionError", code: "cycle" });
    expect(error.message).toBe(
      'dag "sales", task "b": tasks wait for each other in a circle: b -> c -> b; remove one of these edges',
    );
  });

  test("a circle of three, through data and order", () => {
    const error = inSales(() => {
      const a = task("a", nothing);
      const b = task("b", { inputs: { a } }, nothing);
      const c = task("c", { inputs: { b } }, nothing);
      a.after(c);
    });
    expect(error.message).toContain("a -> b -> c -> a;");
  });

  test("a task that waits for itself", () => {
    expect(
      inSales(() => {
        const a = task("a", nothing);
        a.after(a);
      }).message,
    ).toContain("a -> a;");
  });

  test("a circle at the end of 5,000 tasks", () => {
    const error = inSales(() => {
      const tasks = Array.from({ length: 5000 }, (_, i) => task(`t${i}`, nothing));
      tasks.forEach((ref, i) => i > 0 && ref.after(tasks[i - 1]!));
      tasks[4998]!.after(tasks[4999]!);
    });
    expect(error.message).toContain("t4998 -> t4999 -> t4998;");
  });

  const first = () => task("extract", nothing);
  const cases: readonly [string, () => unknown, string, readonly (string | RegExp)[]][] = [
    [
      "a duplicate task id",
      () => {
        first();
        first();
      },
      "duplicate_task",
      ['dag "sales", task "extract"', "taken", "an id of its own"],
    ],
    [
      "an upstream by name",
      () => {
        first();
        looseTask("load", { inputs: { rows: "extrct" } }, nothing);
      },
      "unknown_upstream",
      [
        'dag "sales", task "load"',
        'input "rows"',
        '"extrct"',
        'did you mean "extract"?',
        "what task() returned",
      ],
    ],
    [
      "an upstream by name in after",
      () => {
        first();
        looseTask("load", { after: ["extrct"] }, nothing);
      },
      "unknown_upstream",
      ['option "after"', 'did you mean "extract"?'],
    ],
    [
      "an id in after, as in Airflow",
      () => looseTask("load", { after: ["nope"] }, nothing),
      "unknown_upstream",
      [
        /^dag "sales", task "load": option "after" is "nope"; it takes what task\(\) returned, not an id: const rows = task\("rows", …\), then after: \[rows\]$/,
      ],
    ],
    [
      "the id of a task in after: it is not suggested again",
      () => {
        first();
        looseTask("load", { after: ["extract"] }, nothing);
      },
      "unknown_upstream",
      [/"after" is "extract"; it takes what task\(\) returned, not an id: .* after: \[rows\]$/],
    ],
    [
      "an id in after without a list",
      () => looseTask("load", { after: "nope" }, nothing),
      "bad_option",
      ['option "after" is "nope"; expected a list of what task() returned, such as [rows]'],
    ],
    [
      "an id in inputs",
      () => looseTask("load", { inputs: { rows: "nope" } }, nothing),
      "unknown_upstream",
      [/; it takes what task\(\) returned, not an id: .* then inputs: \{ rows \}$/],
    ],
    [
      "an undefined upstream",
      () => looseTask("load", { inputs: { rows: undefined } }, nothing),
      "unknown_upstream",
      ['input "rows" is undefined'],
    ],
    [
      "something else as upstream",
      () => looseTask("load", { inputs: { rows: new Map() } }, nothing),
      "unknown_upstream",
      ["an object of type Map"],
    ],
    [
      "something else in before()",
      () => (first() as { before(x: unknown): void }).before("x"),
      "unknown_upstream",
      ['task "extract": .before()'],
    ],
    [
      "a bad task id",
      () => task("a b", nothing),
      "bad_id",
      ['dag "sales": task id "a b"', "letters, digits"],
    ],
    ["a task id that is no text", () => looseTask(7, nothing), "bad_id", ['dag "sales": task id 7']],
    [
      "no body",
      () => looseTask("load", { retries: 1 }),
      "bad_body",
      ['dag "sales", task "load": its body is missing; expected a function as the last argument of task()'],
    ],
    [
      "a body that is none",
      () => looseTask("load", {}, 5),
      "bad_body",
      ['task "load": its body is 5; expected'],
    ],
    [
      "options that are no object",
      () => looseTask("load", "x", nothing),
      "bad_option",
      ['task "load"', 'its options are "x"'],
    ],
    [
      "a misspelt option",
      () => looseTask("load", { retires: 2 }, nothing),
      "unknown_option",
      [/^dag "sales", task "load": option "retires" does not exist; did you mean "retries"\?$/],
    ],
    [
      "an option nothing is like",
      () => looseTask("load", { zzz: 2 }, nothing),
      "unknown_option",
      ['option "zzz"', "expected one of retries, "],
    ],
    [
      "Object.prototype is no option",
      () => looseTask("load", { toString: 2 }, nothing),
      "unknown_option",
      ['option "toString"'],
    ],
    ...[0, -1, 1.5, "2", NaN, 1e9].map((slots): [string, () => unknown, string, string[]] => [
      `${JSON.stringify(slots)} slots`,
      () => looseTask("load", { poolSlots: slots }, nothing),
      "bad_option",
      ['dag "sales", task "load": option "poolSlots" is', "a whole number from 1"],
    ]),
    [
      "negative retries",
      () => looseTask("load", { retries: -1 }, nothing),
      "bad_option",
      ['option "retries" is -1', "a whole number from 0"],
    ],
    ...["30", "5 minutes", "-5s", "1.0001ms", -5, 1.5, Infinity, null, {}].map(
      (value): [string, () => unknown, string, string[]] => [
        `duration ${JSON.stringify(value)}`,
        () => looseTask("load", { retryDelay: value }, nothing),
        "bad_option",
        ['option "retryDelay" is', '"30s"'],
      ],
    ),
    [
      "a time-out of 0",
      () => looseTask("load", { executionTimeout: 0 }, nothing),
      "bad_option",
      ['option "executionTimeout" is 0', "above 0, or null"],
    ],
    [
      "a misspelt rule",
      () => looseTask("load", { triggerRule: "all_sucess" }, nothing),
      "bad_option",
      [/option "triggerRule" is "all_sucess"; did you mean "all_success"\?$/],
    ],
    [
      "a wrong isolation",
      () => looseTask("load", { isolation: "vm" }, nothing),
      "bad_option",
      ['expected one of "shared", "own"'],
    ],
    [
      "no cores",
      () => looseTask("load", { cores: 0 }, nothing),
      "bad_option",
      ['option "cores" is 0; expected a number above 0, up to 10000'],
    ],
    [
      "a bad pool name",
      () => looseTask("load", { pool: "a/b" }, nothing),
      "bad_option",
      ['option "pool" is "a/b"'],
    ],
  ];
  test.each(cases)("%s", (_title, build, code, parts) => {
    const error = inSales(build);
    expect(error).toMatchObject({ name: "DefinitionError", code });
    for (const part of parts)
      expect(error.message).toMatch(
        part instanceof RegExp ? part : new RegExp(part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)),
      );
  });

  const dagCases: readonly [string, unknown, string, readonly string[]][] = [
    [
      "a misspelt option",
      { shedule: "@daily" },
      "unknown_option",
      ['dag "sales": option "shedule" does not exist; did you mean "schedule"?'],
    ],
    [
      "a misspelt default",
      { defaults: { retires: 1 } },
      "unknown_option",
      ['dag "sales": defaults: option "retires"', '"retries"'],
    ],
    [
      "a bad default",
      { defaults: { poolSlots: 0 } },
      "bad_option",
      ['dag "sales": defaults: option "poolSlots" is 0'],
    ],
    [
      "inputs among the defaults",
      { defaults: { inputs: {} } },
      "unknown_option",
      ['option "inputs" does not exist'],
    ],
    ["a bad cron text", { schedule: "61 * * * *" }, "", ['dag "sales": option "schedule": ', "61"]],
    ["a misspelt preset", { schedule: "@dialy" }, "schedule_invalid", ['dag "sales"', '"@daily"']],
    ["a bad period", { schedule: { every: "10 min" } }, "schedule_invalid", ['every is "10 min"']],
    [
      "a misspelt period",
      { schedule: { every: "10m", ancor: "2026-01-01" } },
      "schedule_invalid",
      ['"ancor"', '"anchor"'],
    ],
    ["a schedule of another type", { schedule: 5 }, "schedule_invalid", ['dag "sales": option "schedule": ']],
    [
      "an unknown zone",
      { zone: "Europe/Berln" },
      "zone_unknown",
      ['dag "sales": option "zone": ', '"Europe/Berlin"'],
    ],
    [
      "a date that does not exist",
      { startDate: "2026-02-30" },
      "instant_invalid",
      ['dag "sales": option "startDate": '],
    ],
    ["an invalid Date", { endDate: new Date("x") }, "bad_option", ['option "endDate" is']],
    [
      "an end before its start",
      { startDate: "2026-01-02", endDate: "2026-01-01" },
      "end_before_start",
      ['dag "sales": endDate 2026-01-01T00:00:00Z is before startDate 2026-01-02T00:00:00Z'],
    ],
    ["no run at a time", { maxActiveRuns: 0 }, "bad_option", ['option "maxActiveRuns" is 0']],
    [
      "a tag that is no text",
      { tags: [1] },
      "bad_option",
      ['option "tags" is a list of 1', "a list of texts"],
    ],
    ["catchup that is no boolean", { catchup: "yes" }, "bad_option", ["true or false"]],
  ];
  test.each(dagCases)("dag: %s", (_title, options, code, parts) => {
    const error = inSales(nothing, options);
    expect(error.name).toBe("DefinitionError");
    if (code !== "") expect(error.code).toBe(code);
    for (const part of parts) expect(error.message).toContain(part);
  });

  test("a bad DAG id", () => {
    expect(errorOf(() => dag("a/b", {}, nothing))).toMatchObject({ code: "bad_id" });
  });

  test("task() outside of a DAG, also after one failed", () => {
    expect(
      errorOf(() =>
        dag("x", {}, () => {
          throw new Error("mine");
        }),
      ).message,
    ).toBe('dag "x": mine');
    const error = errorOf(() => task("load", nothing));
    expect(error).toMatchObject({ code: "task_outside_dag" });
    expect(error.message).toContain('task "load"');
  });

  test("an error of the author's own inside the function names the DAG, and stays the same error", () => {
    const boom = new RangeError("boom");
    expect(
      inSales(() => {
        throw boom;
      }),
    ).toBe(boom);
    expect(boom.message).toBe('dag "sales": boom');
    expect(
      inSales(() => {
        throw boom;
      }).message,
      "named once",
    ).toBe('dag "sales": boom');
    const frozen = Object.freeze(new Error("cold"));
    expect(
      inSales(() => {
        throw frozen;
      }),
    ).toBe(frozen);
    expect(
      inSales(() => {
        throw undefined;
      }),
    ).toBeUndefined();
  });

  test("an upstream of another DAG", () => {
    let foreign!: TaskRef<null>;
    dag("other", {}, () => {
      foreign = task("extract", nothing);
    });
    const error = inSales(() => task("load", { inputs: { rows: foreign } }, nothing));
    expect(error).toMatchObject({ code: "foreign_upstream" });
    expect(error.message).toBe(
      'dag "sales", task "load": input "rows" is task "extract" of dag "other"; expected a task of the same DAG',
    );
  });

  test("an edge after the DAG is complete", () => {
    let a!: TaskRef<null>;
    dag("x", {}, () => {
      a = task("a", nothing);
    });
    expect(errorOf(() => a.after(a))).toMatchObject({ code: "dag_closed" });
  });

  test("a DAG inside a DAG, and an async function", () => {
    expect(inSales(() => dag("inner", {}, nothing))).toMatchObject({ code: "nested_dag" });
    expect(errorOf(() => looseDag("x", {}, async () => {}))).toMatchObject({ code: "async_dag" });
    for (const args of [["x"], ["x", {}], ["x", { schedule: "@daily" }, undefined]]) {
      expect(errorOf(() => looseDag(...args))).toMatchObject({
        code: "bad_dag",
        message:
          'dag "x": its function is missing; expected one that defines its tasks, as the last argument of dag()',
      });
    }
    expect(errorOf(() => task("load", nothing))).toMatchObject({ code: "task_outside_dag" });
  });
});
