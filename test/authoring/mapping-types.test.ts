/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { branch, dag, shortCircuit, switchOn, task, taskGroup } from "../../authoring/index.ts";
import type {
  GroupOptions,
  GroupRef,
  ItemRef,
  MappedRef,
  TaskOptions,
  TaskRef,
} from "../../authoring/index.ts";
import { compile } from "../support/compiler.ts";

interface File {
  readonly path: string;
  readonly bytes: number;
}

/** Never called: what it holds is for the compiler. */
export function mapped(): void {
  dag("sales", {}, ({ task: own }) => {
    const files = task("files", async (): Promise<File[]> => []);
    const loads = task("load", { expand: { file: files } }, ({ inputs, mapIndex }) => {
      expectTypeOf(inputs.file).toEqualTypeOf<File>();
      expectTypeOf(mapIndex).toEqualTypeOf<number | null>();
      return { rows: inputs.file.bytes };
    });
    expectTypeOf(loads).toEqualTypeOf<MappedRef<{ rows: number }>>();
    expectTypeOf(loads.after(files)).toEqualTypeOf<MappedRef<{ rows: number }>>();
    const asTask: TaskRef<{ rows: number }[]> = loads;
    void asTask;
    // A reducer's list is there under every rule.
    task("sum", { inputs: { loads, files }, triggerRule: "none_failed" }, ({ inputs }) => {
      expectTypeOf(inputs.loads).toEqualTypeOf<{ rows: number }[]>();
      expectTypeOf(inputs.files).toEqualTypeOf<File[] | undefined>();
    });
    own("batches", { expand: { files }, batch: 25, inputs: { loads } }, ({ inputs }) => {
      expectTypeOf(inputs.files).toEqualTypeOf<File[]>();
      expectTypeOf(inputs.loads).toEqualTypeOf<{ rows: number }[]>();
    });
    task("both", { expand: { load: loads, day: ["mon", "tue"] }, triggerRule: "all_done" }, ({ inputs }) => {
      expectTypeOf(inputs.load).toEqualTypeOf<{ rows: number }>();
      expectTypeOf(inputs.day).toEqualTypeOf<"mon" | "tue">();
    });
    const cities: string[] = ["rome"];
    task("constant", { expand: { city: cities }, expandBy: "zip", maxMapped: 3 }, ({ inputs }) => {
      expectTypeOf(inputs.city).toEqualTypeOf<string>();
    });

    const perFile = taskGroup("per_file", { expand: { file: files, day: [1, 2] } }, ({ file, day }) => {
      expectTypeOf(file).toEqualTypeOf<ItemRef<File>>();
      const a = task("a", { inputs: { file, day }, triggerRule: "all_done" }, ({ inputs }) => {
        expectTypeOf(inputs.file).toEqualTypeOf<File>();
        expectTypeOf(inputs.day).toEqualTypeOf<1 | 2>();
        return inputs.file.path;
      });
      expectTypeOf(a).toEqualTypeOf<TaskRef<string>>();
      const inner = taskGroup("inner", () => ({ b: task("b", { inputs: { a } }, () => 1) }));
      return { a, inner, both: [a, a] as const };
    });
    expectTypeOf(perFile.returned.a).toEqualTypeOf<MappedRef<string>>();
    expectTypeOf(perFile.returned.inner).toEqualTypeOf<GroupRef<{ b: MappedRef<number> }>>();
    expectTypeOf(perFile.returned.both).toEqualTypeOf<readonly [MappedRef<string>, MappedRef<string>]>();
    task("names", { inputs: { names: perFile.returned.a } }, ({ inputs }) => {
      expectTypeOf(inputs.names).toEqualTypeOf<string[]>();
    });
    const batches = taskGroup("batches_of_files", { expand: { files }, batch: 2 }, ({ files: some }) => {
      expectTypeOf(some).toEqualTypeOf<ItemRef<File[]>>();
      return task("c", { inputs: { some } }, ({ inputs }) => inputs.some.length);
    });
    expectTypeOf(batches.returned).toEqualTypeOf<MappedRef<number>>();
  });
}

/** Options made apart. */
export function options(plain: TaskOptions, group: GroupOptions): void {
  dag("sales", {}, () => {
    expectTypeOf(task("a", plain, () => 1)).toEqualTypeOf<TaskRef<number>>();
    const made = taskGroup("g", group, () => task("b", { ...plain, retries: 1 }, () => 1));
    expectTypeOf(made.returned).toEqualTypeOf<TaskRef<number>>();
    const some: number | undefined = [1][0];
    task("c", { expand: { n: [1, 2] }, batch: some }, ({ inputs }) => {
      expectTypeOf(inputs.n).toEqualTypeOf<1 | 2 | (1 | 2)[]>();
    });
  });
}

export function wrongMaps(): void {
  dag("sales", {}, () => {
    const files = task("files", (): File[] => []);
    const text = task("text", () => "abc");
    // @ts-expect-error a text is no list
    task("a", { expand: { char: text } }, () => {});
    // @ts-expect-error an item of another type
    task("b", { expand: { file: files } }, ({ inputs }) => inputs.file.size);
    // @ts-expect-error with batch it is a list
    task("c", { expand: { file: files }, batch: 2 }, ({ inputs }) => inputs.file.path);
    // @ts-expect-error an item that was not named
    task("d", { expand: { file: files } }, ({ inputs }) => inputs.files);
    const loads = task("e", { expand: { file: files } }, () => 1);
    // @ts-expect-error a mapped task's output is a list
    task("f", { inputs: { loads } }, ({ inputs }) => inputs.loads.toFixed());
    // @ts-expect-error a misspelt option
    task("g", { expand: { file: files }, maxMaped: 3 }, () => {});
    taskGroup("h", { expand: { file: files } }, ({ file }) => {
      // @ts-expect-error an item stands in inputs only
      task("i", { after: [file] }, () => {});
      // @ts-expect-error an item is no list to map over
      task("j", { expand: { file } }, () => {});
    });
  });
}

export function deciding(): void {
  dag("sales", {}, (tools) => {
    const eu = task("eu", () => 1);
    const us = taskGroup("us", () => void task("x", () => 1));
    const way = branch("way", { inputs: { eu } }, ({ inputs }) => {
      expectTypeOf(inputs.eu).toEqualTypeOf<number>();
      return inputs.eu > 0 ? [eu, us] : null;
    });
    expectTypeOf(way).toEqualTypeOf<TaskRef<string[]>>();
    branch("by_id", async ({ ds }) => (ds === "" ? "eu" : us));
    expectTypeOf(shortCircuit("on", async ({ ds }) => ds !== "")).toEqualTypeOf<TaskRef<boolean>>();
    switchOn("cases", { inputs: { eu }, cases: { eu, us: [us, "eu"] } }, ({ inputs }) =>
      inputs.eu > 0 ? "eu" : "us",
    );
    switchOn("else", { cases: { eu }, otherwise: null }, ({ conf }) => String(conf["region"]));
    tools.switchOn("async", { cases: { eu }, otherwise: us }, async ({ ds }) => ds);
    tools.branch("skips", ({ log }) => {
      log.info("x");
      throw new Error("x");
    });
    task("drop", { inputs: { eu }, teardown: [eu] }, ({ inputs }) => {
      expectTypeOf(inputs.eu).toEqualTypeOf<number | undefined>();
    });
    task("make", { setup: true, retryRules: [{ error: TypeError, action: "wait", delay: "1s" }] }, () => 1);
  });
}

export function wrongDecisions(): void {
  dag("sales", {}, () => {
    const eu = task("eu", () => 1);
    // @ts-expect-error a number is no target
    branch("a", () => 5);
    // @ts-expect-error a branch that answers nothing at all
    branch("b", () => {});
    // @ts-expect-error a branch is not mapped
    branch("c", { expand: { x: [1] } }, () => null);
    // @ts-expect-error a case that does not exist
    switchOn("d", { cases: { eu } }, () => "us");
    // @ts-expect-error a short circuit says yes or no
    shortCircuit("e", () => [1]);
    // @ts-expect-error a teardown names setups, not ids
    task("f", { teardown: ["eu"] }, () => {});
    // @ts-expect-error an action that does not exist
    task("g", { retryRules: [{ error: "X", action: "stop" }] }, () => {});
    // @ts-expect-error no class of errors
    task("h", { retryRules: [{ error: Date, action: "fail" }] }, () => {});
  });
}

describe("A7 A4: types can fail", () => {
  const file = (use: string) =>
    `import { dag, task } from "../../authoring/index.ts";
     dag("d", {}, () => { const files = task("files", () => [{ path: "x" }]); ${use} });`;

  test("A7: an item has its list's type", { timeout: 120_000 }, () => {
    expect(
      compile(file(`task("a", { expand: { file: files } }, ({ inputs }) => inputs.file.path.length);`)),
    ).toBe("");
    expect(
      compile(file(`task("a", { expand: { file: files } }, ({ inputs }) => inputs.file.pth);`)),
    ).toContain("Did you mean 'path'");
  });
});
