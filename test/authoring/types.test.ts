/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as entry from "../../authoring/index.ts";
import { dag, fail, skip, task } from "../../authoring/index.ts";
import type { TaskContext, TaskRef } from "../../authoring/index.ts";
import * as testing from "../../authoring/testing.ts";

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
  // @ts-expect-error options come second
  dag("e", () => {});
}

describe("A1: types can fail", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  /** What the compiler says of a DAG file. */
  function compile(body: string): string {
    const folder = mkdtempSync(`${root}node_modules/.types-`);
    try {
      writeFileSync(`${folder}/dag.ts`, `import { dag, task } from "../../authoring/index.ts";\n${body}`);
      const options = { extends: "../../tsconfig.json", include: [], files: ["dag.ts"] };
      writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(options));
      execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", folder], {
        encoding: "utf8",
      });
      return "";
    } catch (error) {
      return (error as { stdout: string }).stdout;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  const file = (use: string) =>
    `dag("d", {}, () => { const text = task("text", async () => "text"); ${use} });`;

  test("a right use compiles, and a wrong one is refused with its reason", { timeout: 120_000 }, () => {
    expect(compile(file(`task("a", { inputs: { text } }, ({ inputs }) => inputs.text.length);`))).toBe("");
    expect(
      compile(file(`task("a", { inputs: { text } }, ({ inputs }) => inputs.text.toFixed(2));`)),
    ).toContain("Property 'toFixed' does not exist on type 'string'");
    expect(compile(file(`task("a", { inputs: { text }, retires: 1 }, () => {});`))).toContain("'retires'");
  });
});

test("the public names", () => {
  expect(Object.keys(entry).sort()).toEqual(["dag", "fail", "skip", "task"]);
  expect(Object.keys(testing).sort()).toEqual(["connectionsFrom", "runLocally"]);
  expect(namesIn("index.ts")).toEqual(
    "Dag DagOptions DateInput Duration InputValues Inputs Log Output Schedule TaskBody TaskContext TaskDefaults " +
      "TaskOptions TaskRef TriggerRule dag fail skip task",
  );
  expect(namesIn("testing.ts")).toBe("LocalOptions LocalRun LocalTask connectionsFrom runLocally");
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
