/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as entry from "../../authoring/index.ts";
import { z } from "zod";
import { dag, fail, skip, task } from "../../authoring/index.ts";
import type { AnyParams, Dag, DagId, ParamsOf, TaskContext, TaskRef } from "../../authoring/index.ts";
import * as testing from "../../authoring/testing.ts";
import { compile } from "../support/compiler.ts";

/** Never called: what it holds is for the compiler. */
export function rightUses(): void {
  dag("sales", { schedule: { every: "10m" }, tags: ["a"], defaults: { retries: 1 } }, () => {
    const numbers = task("numbers", async ({ ds, logicalDate, dataInterval, signal, connection }) => {
      expectTypeOf(ds).toEqualTypeOf<string>();
      expectTypeOf(logicalDate).toEqualTypeOf<Date>();
      expectTypeOf(dataInterval.end).toEqualTypeOf<Date>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      expectTypeOf(connection("x")).toEqualTypeOf<string>();
      return [1, 2, 3];
    });
    expectTypeOf(numbers).toEqualTypeOf<TaskRef<number[]>>();
    expectTypeOf(numbers.before(numbers)).toEqualTypeOf<TaskRef<number[]>>();

    const nothing = task("nothing", () => {});
    expectTypeOf(nothing).toEqualTypeOf<TaskRef<null>>();
    const maybe = task("maybe", async ({ ds }) => (ds === "" ? undefined : { ds }));
    expectTypeOf(maybe).toEqualTypeOf<TaskRef<{ ds: string } | null>>();
    const never = task("never", () => skip("always"));
    expectTypeOf(never).toEqualTypeOf<TaskRef<never>>();

    const total = task(
      "total",
      { inputs: { numbers, maybe }, retries: 2, retryDelay: "30s" },
      ({ inputs }) => {
        expectTypeOf(inputs.numbers).toEqualTypeOf<number[]>();
        expectTypeOf(inputs.maybe).toEqualTypeOf<{ ds: string } | null>();
        return inputs.numbers.reduce((a, b) => a + b, 0);
      },
    );
    expectTypeOf(total).toEqualTypeOf<TaskRef<number>>();

    // Only under all_success is every input there.
    task("report", { inputs: { total }, triggerRule: "all_done" }, ({ inputs }) => {
      expectTypeOf(inputs.total).toEqualTypeOf<number | undefined>();
    });
    task("strict", { inputs: { total }, triggerRule: "all_success" }, ({ inputs }) => {
      expectTypeOf(inputs.total).toEqualTypeOf<number>();
    });

    const byName = ({ inputs }: TaskContext<{ readonly total: number }>) => inputs.total * 2;
    task("by_name", { inputs: { total } }, byName);
    task("anyone", { after: [numbers, nothing, total] }, ({ log }) => log.info("x", 1, {}));
    task("last", async () => fail("x"));
  });

  const plain = dag("plain", ({ task: own }) => {
    own("greet", ({ params }) => expectTypeOf(params).toEqualTypeOf<AnyParams>());
  });
  expectTypeOf(plain).toEqualTypeOf<Dag<"plain", AnyParams>>();
  expectTypeOf<DagId<typeof plain>>().toEqualTypeOf<"plain">();
}

const Region = z.object({
  region: z.enum(["eu", "us"]).default("eu"),
  since: z.iso.date().transform((text) => new Date(text)),
  limit: z.number().optional(),
});

/** A12: params; A1: groups and templates. */
export function rightParams(): void {
  const sales = dag("sales", { params: Region }, ({ task, taskGroup }) => {
    const load = taskGroup("load", { label: "Load" }, () => {
      const rows = task("rows", ({ params }) => {
        expectTypeOf(params).toEqualTypeOf<{
          region: "eu" | "us";
          since: Date;
          limit?: number | undefined;
        }>();
        return [params.region];
      });
      return { rows };
    });
    expectTypeOf(load.returned.rows).toEqualTypeOf<TaskRef<("eu" | "us")[]>>();
    task(
      "copy",
      {
        inputs: { rows: load.returned.rows },
        after: [load],
        templates: { path: "s3://{{ ds }}", more: { days: ["{{ ds }}", "x"], n: 1, on: true, none: null } },
      },
      ({ inputs, params, templates }) => {
        expectTypeOf(inputs.rows).toEqualTypeOf<("eu" | "us")[]>();
        expectTypeOf(params.since).toEqualTypeOf<Date>();
        expectTypeOf(templates.path).toEqualTypeOf<string>();
        expectTypeOf(templates.more.days[0]).toEqualTypeOf<string | undefined>();
        expectTypeOf(templates.more.n).toEqualTypeOf<number>();
        expectTypeOf(templates.more.on).toEqualTypeOf<boolean>();
        expectTypeOf(templates.more.none).toEqualTypeOf<null>();
      },
    ).after(load);
    load.before(taskGroup("end", () => void task("only", () => {})));
  });
  expectTypeOf(sales.id).toEqualTypeOf<"sales">();
  expectTypeOf<DagId<typeof sales>>().toEqualTypeOf<"sales">();
  // What a trigger gives: the input side.
  expectTypeOf<ParamsOf<typeof sales>>().toEqualTypeOf<{
    region?: "eu" | "us" | undefined;
    since: string;
    limit?: number | undefined;
  }>();
  const any: Dag = sales;
  expectTypeOf(any.id).toEqualTypeOf<string>();

  const plain = dag("plain", {}, () => {
    task("all", { templates: { day: "{{ ds }}" } }, ({ params, templates }) => {
      expectTypeOf(params).toEqualTypeOf<AnyParams>();
      expectTypeOf(templates).toEqualTypeOf<{ readonly day: string }>();
    });
  });
  expectTypeOf<ParamsOf<typeof plain>>().toEqualTypeOf<AnyParams>();
  for (const city of ["berlin", "seattle"] as const) {
    const made = dag(`rain_${city}`, {}, () => void task("day", () => 1));
    expectTypeOf<DagId<typeof made>>().toEqualTypeOf<"rain_berlin" | "rain_seattle">();
  }
  const named: string = "x";
  const loose = dag(named, {}, () => void task("day", () => 1));
  expectTypeOf<DagId<typeof loose>>().toEqualTypeOf<string>();
}

export function wrongParams(): void {
  dag("sales", { params: Region }, ({ task, taskGroup }) => {
    // @ts-expect-error a param of another type
    task("a", ({ params }) => params.since.slice(0, 4));
    // @ts-expect-error a param that does not exist
    task("b", ({ params }) => params.regoin);
    // @ts-expect-error a template that was not named
    task("c", { templates: { path: "{{ ds }}" } }, ({ templates }) => templates.paht);
    // @ts-expect-error a task without templates has none
    task("d", ({ templates }) => templates.path);
    // @ts-expect-error a template is no Date
    task("e", { templates: { since: new Date() } }, () => {});
    // @ts-expect-error a misspelt option of a group
    taskGroup("f", { prefx: false }, () => void task("a", () => {}));
    // @ts-expect-error a group has no output
    task("g", { inputs: { all: taskGroup("h", () => task("a", () => {})) } }, () => {});
    const load = taskGroup("load", () => ({ rows: task("rows", () => [1]) }));
    // @ts-expect-error the type of what a group returned
    task("i", { inputs: { rows: load.returned.rows } }, ({ inputs }) => inputs.rows.length.slice());
  });
  // @ts-expect-error params are an object
  dag("a", { params: z.string() }, () => {});
  // @ts-expect-error params are a schema
  dag("b", { params: { region: "eu" } }, () => {});
  const plain = dag("plain", {}, () => {
    // @ts-expect-error without a schema a param may be anything
    task("a", ({ params }) => params["region"].length);
  });
  // @ts-expect-error another DAG's id
  const other: Dag<"other"> = plain;
  void other;
}

export function wrongUses(): void {
  dag("sales", {}, () => {
    const numbers = task("numbers", () => [1, 2, 3]);
    const text = task("text", async () => "text");

    // @ts-expect-error an output of another type
    task("a", { inputs: { text } }, ({ inputs }) => inputs.text.toFixed(2));
    // @ts-expect-error an input that was not named
    task("b", { inputs: { text } }, ({ inputs }) => inputs.txt);
    // @ts-expect-error a task without inputs has none
    task("c", ({ inputs }) => inputs.text);
    // @ts-expect-error an input may be missing under this rule
    task("d", { inputs: { text }, triggerRule: "all_done" }, ({ inputs }) => inputs.text.length);
    // @ts-expect-error a body that wants another type
    task("e", { inputs: { text } }, ({ inputs }: TaskContext<{ text: number }>) => inputs.text);
    // @ts-expect-error a reference is no value
    void (numbers.length + 1);
    // @ts-expect-error a reference is no function
    numbers();
    // @ts-expect-error an input that is no task
    task("f", { inputs: { text: "text" } }, () => {});
    // @ts-expect-error an input by id
    task("g", { after: ["numbers"] }, () => {});
    // @ts-expect-error the other way round
    task("h", () => {}, { retries: 1 });
    // @ts-expect-error no body
    task("i", { retries: 1 });
    // @ts-expect-error a reference is frozen
    numbers.id = "x";
    const wanted = (ref: TaskRef<number>): TaskRef<number> => ref;
    // @ts-expect-error a reference of another type
    wanted(text);

    // @ts-expect-error a misspelt option
    task("k", { retires: 2 }, () => {});
    // @ts-expect-error a misspelt option beside inputs
    task("l", { inputs: { text }, poolSlot: 2 }, ({ inputs }) => inputs.text);
    // @ts-expect-error a duration without a unit
    task("m", { retryDelay: "30" }, () => {});
    // @ts-expect-error a duration with an unknown unit
    task("n", { executionTimeout: "5 minutes" }, () => {});
    // @ts-expect-error a misspelt rule
    task("o", { triggerRule: "all_sucess" }, () => {});
    // @ts-expect-error a wrong word
    task("p", { isolation: "vm" }, () => {});
  });
  // @ts-expect-error a misspelt option
  dag("a", { shedule: "@daily" }, () => {});
  // @ts-expect-error a misspelt default
  dag("b", { defaults: { retires: 1 } }, () => {});
  // @ts-expect-error what belongs to one task is no default
  dag("c", { defaults: { inputs: {} } }, () => {});
  // @ts-expect-error a number is no schedule
  dag("d", { schedule: 5 }, () => {});
  // @ts-expect-error the function comes last
  dag("e", () => {}, {});
}

describe("A1 A12: types can fail", () => {
  /** What the compiler says of a DAG file. */
  const compiled = (body: string): string =>
    compile(
      `import { z } from "zod";\nimport { dag, task } from "../../authoring/index.ts";\nvoid [z, task];\n${body}`,
    );
  const file = (use: string) =>
    `dag("d", {}, () => { const text = task("text", async () => "text"); ${use} });`;

  test("a right use compiles, and a wrong one is refused with its reason", { timeout: 120_000 }, () => {
    expect(compiled(file(`task("a", { inputs: { text } }, ({ inputs }) => inputs.text.length);`))).toBe("");
    expect(
      compiled(file(`task("a", { inputs: { text } }, ({ inputs }) => inputs.text.toFixed(2));`)),
    ).toContain("Property 'toFixed' does not exist on type 'string'");
    expect(compiled(file(`task("a", { inputs: { text }, retires: 1 }, () => {});`))).toContain("'retires'");
    const withParams = (body: string) =>
      `dag("d", { params: z.object({ region: z.string() }) }, ({ task }) => { ${body} });`;
    expect(compiled(withParams(`task("a", ({ params }) => params.region.length);`))).toBe("");
    expect(compiled(withParams(`task("a", ({ params }) => params.regoin);`))).toContain(
      "Did you mean 'region'",
    );
  });
});

test("the public names", () => {
  expect(Object.keys(entry).sort()).toEqual([
    "branch",
    "dag",
    "defer",
    "fail",
    "retryAfter",
    "sensor",
    "shortCircuit",
    "skip",
    "switchOn",
    "task",
    "taskGroup",
    "waitAndRetry",
    "waitFor",
    "waitForRun",
    "waitUntil",
  ]);
  expect(Object.keys(testing).sort()).toEqual(["connectionsFrom", "renderTask", "runDag", "runTask"]);
  expect(namesIn("index.ts")).toEqual(
    "AnyParams BranchOf CommonTaskOptions Dag DagId DagOptions DagTools DateInput Duration Expand GroupOptions " +
      "GroupRef InputValues Inputs ItemRef Log MappedRef NotJson Output ParamsOf ParamsSchema Rendered Resumed " +
      "RetryRule Schedule SensorOf SensorOptions ShortCircuitOf SwitchOnOf SwitchOptions Target Targets TaskBody " +
      "TaskContext TaskDefaults TaskGroupOf TaskOf TaskOptions TaskOrGroup TaskRef Teardown Template Templates " +
      "TriggerRule WaitForOf WaitForOptions WaitForRunOf WaitForRunOptions WaitUntilOf WaitUntilOptions WakeUp branch " +
      "dag defer fail retryAfter sensor shortCircuit skip switchOn task taskGroup waitAndRetry waitFor waitForRun " +
      "waitUntil",
  );
  expect(namesIn("testing.ts")).toBe(
    "LocalOptions LocalRun LocalTask LocalTry RunOptions TaskRunOptions connectionsFrom renderTask runDag runTask",
  );
});

/** Types included; there is no `export *`, and nothing is defined in an entry itself. */
function namesIn(file: string): string {
  const text = readFileSync(new URL(`../../authoring/${file}`, import.meta.url), "utf8");
  expect(text.match(/export (?!(?:type )?\{)/g)).toBeNull();
  const lists = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].map((match) => match[1]!);
  return lists
    .join(",")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .sort()
    .join(" ");
}
