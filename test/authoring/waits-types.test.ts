/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  dag,
  defer,
  sensor,
  task,
  taskGroup,
  waitFor,
  waitForRun,
  waitUntil,
} from "../../authoring/index.ts";
import type { MappedRef, Resumed, TaskRef } from "../../authoring/index.ts";
import { compile } from "../support/compiler.ts";

/** Never called: what it holds is for the compiler. */
export function waits(): void {
  const params = z.object({ region: z.string() });
  const other = dag("other", {}, () => void task("a", () => 1));
  dag("sales", { params }, (tools) => {
    const size = sensor("size", async ({ ds }) => (ds === "" ? undefined : ds.length));
    expectTypeOf(size).toEqualTypeOf<TaskRef<number>>();
    expectTypeOf(sensor("yes", () => Math.random() > 1)).toEqualTypeOf<TaskRef<true>>();
    expectTypeOf(sensor("maybe", () => null as null | { path: string })).toEqualTypeOf<
      TaskRef<{ path: string }>
    >();
    expectTypeOf(sensor("any", (): unknown => 1)).toEqualTypeOf<TaskRef<unknown>>();
    const rows = task("rows", () => [1, 2]);
    const found = tools.sensor(
      "found",
      { inputs: { rows }, every: "5m", timeout: null, softFail: true, templates: { path: "{{ ds }}" } },
      ({ inputs, params: given, templates }) => {
        expectTypeOf(inputs.rows).toEqualTypeOf<number[]>();
        expectTypeOf(given).toEqualTypeOf<{ region: string }>();
        expectTypeOf(templates.path).toEqualTypeOf<string>();
        return inputs.rows.length > 0 && inputs.rows;
      },
    );
    expectTypeOf(found).toEqualTypeOf<TaskRef<number[]>>();
    const each = sensor("each", { expand: { row: rows }, triggerRule: "all_done" }, ({ inputs }) => {
      expectTypeOf(inputs.row).toEqualTypeOf<number>();
      return inputs.row > 0 && String(inputs.row);
    });
    expectTypeOf(each).toEqualTypeOf<MappedRef<string>>();

    expectTypeOf(waitFor("open")).toEqualTypeOf<TaskRef<unknown>>();
    expectTypeOf(waitFor("bounded", { timeout: "1d" })).toEqualTypeOf<TaskRef<unknown>>();
    const approval = tools.waitFor("approval", {
      payload: z.object({ by: z.string(), on: z.iso.date().transform((day) => new Date(day)) }),
      after: [size],
    });
    // As it was sent, not as the schema reads it.
    expectTypeOf(approval).toEqualTypeOf<TaskRef<{ by: string; on: string }>>();
    expectTypeOf(waitFor("list", { payload: z.array(z.int()), expand: { row: rows } })).toEqualTypeOf<
      MappedRef<number[]>
    >();
    expectTypeOf(waitUntil("six", { time: "06:00", after: [rows] })).toEqualTypeOf<TaskRef<null>>();
    tools.waitUntil("later", { delay: "30m" });
    expectTypeOf(waitForRun("run", { dag: other, task: "a", retries: 2 })).toEqualTypeOf<TaskRef<null>>();
    tools.waitForRun("by_id", { dag: "other", before: "1d", every: 5000 });
    taskGroup("each_row", { expand: { row: rows } }, ({ row }) => {
      const ok = waitFor("ok", { payload: z.boolean() });
      task("use", { inputs: { row, ok } }, ({ inputs, resumed, waitUrl }) => {
        expectTypeOf(inputs.ok).toEqualTypeOf<boolean>();
        expectTypeOf(resumed).toEqualTypeOf<Resumed | undefined>();
        expectTypeOf(waitUrl(ok)).toEqualTypeOf<string>();
        if (resumed === undefined) defer({ event: { timeout: "1h" } }, { state: { n: 1 } });
        // What comes behind a defer knows that the try has waited.
        expectTypeOf(resumed).toEqualTypeOf<Resumed>();
        return resumed.payload;
      });
    });
  });
}

export function wrongWaits(): void {
  dag("sales", {}, () => {
    const size = sensor("size", () => (Math.random() > 1 ? 1 : undefined));
    // @ts-expect-error its output is a number
    task("a", { inputs: { size } }, ({ inputs }) => inputs.size.length);
    // @ts-expect-error a sensor is no setup
    sensor("b", { setup: true }, () => true);
    // @ts-expect-error Airflow's name
    sensor("c", { poke_interval: 60 }, () => true);
    // @ts-expect-error somebody ends it: nothing is tried again
    waitFor("d", { retries: 2 });
    // @ts-expect-error it holds no slot
    waitFor("e", { pool: "db" });
    // @ts-expect-error each instance is one wait
    waitFor("f", { expand: { x: [1, 2] }, batch: 2 });
    // @ts-expect-error it has no body
    waitFor("g", {}, () => 1);
    const approval = waitFor("h", { payload: z.object({ by: z.string() }) });
    // @ts-expect-error a field that the payload does not have
    task("i", { inputs: { approval } }, ({ inputs }) => inputs.approval.from);
    // @ts-expect-error one instant
    waitUntil("j", { time: "06:00", delay: "1h" });
    // @ts-expect-error an instant
    waitUntil("k", {});
    // @ts-expect-error it ends by itself
    waitUntil("l", { time: "06:00", timeout: "1h" });
    // @ts-expect-error which DAG
    waitForRun("m", { task: "a" });
    // @ts-expect-error it holds no slot
    waitForRun("n", { dag: "other", pool: "db" });
    // @ts-expect-error one way to go on
    task("o", () => defer({ fr: "1s" }));
    // @ts-expect-error a duration without its unit
    task("p", () => defer({ for: "10" }));
  });
}

describe("A6: types can fail", () => {
  const file = (use: string) =>
    `import { z } from "zod";
     import { dag, task, waitFor } from "../../authoring/index.ts";
     dag("d", {}, () => { const approval = waitFor("approval", { payload: z.object({ by: z.string() }) }); ${use} });`;

  test("A6: what a wait is ended with has its payload's type", { timeout: 120_000 }, () => {
    const read = (name: string) =>
      compile(file(`task("a", { inputs: { approval } }, ({ inputs }) => inputs.approval.${name});`));
    expect(read("by.length")).toBe("");
    expect(read("bye")).toContain("Property 'bye' does not exist");
    expect(compile(file(`waitFor("b", { retries: 1 });`))).toContain("'retries'");
  });
});
