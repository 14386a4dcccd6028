/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { describe, expect, expectTypeOf, test } from "vitest";
import type { TriggeredRun } from "../../api/contracts.ts";
import type { Dag } from "../../authoring/registry.ts";
import { ApiError, createClient, type IdsOf } from "../../remote/index.ts";
import { compile } from "../support/compiler.ts";

/** What a module of DAG files looks like to the compiler. */
interface Module {
  readonly sales: Dag<"sales_daily", { region: "eu" | "us"; days?: number | undefined }>;
  readonly hello: Dag<"hello", unknown>;
  readonly optional: Dag<"optional", { days?: number | undefined }>;
  readonly helper: () => number;
  readonly LIMIT: number;
}
type Loop = { readonly made: Dag };

/** Never called: what it holds is for the compiler. */
export function rightUses(): void {
  const client = createClient<Module>({ url: "http://localhost" });
  expectTypeOf<IdsOf<Module>>().toEqualTypeOf<"sales_daily" | "hello" | "optional">();
  expectTypeOf(client.trigger("sales_daily", { region: "eu" })).toEqualTypeOf<Promise<TriggeredRun>>();
  void client.trigger("sales_daily", { region: "us", days: 3 }, { logicalDate: new Date() });
  void client.trigger("hello");
  void client.trigger("hello", { anything: 1 });
  void client.trigger("optional");
  void client.trigger("optional", {}, { idempotencyKey: "k" });

  // Several modules, a list, a single DAG.
  const both = createClient<Module & { readonly other: Dag<"other", { a: number }> }>({
    url: "http://localhost",
  });
  void both.trigger("other", { a: 1 });
  const list = createClient<readonly [Module["sales"], Module["hello"]]>({ url: "http://localhost" });
  void list.trigger("sales_daily", { region: "eu" });
  const one = createClient<Module["sales"]>({ url: "http://localhost" });
  void one.trigger("sales_daily", { region: "eu" });

  // Without DAGs, and beside DAGs made in a loop, any id goes.
  const untyped = createClient({ url: "http://localhost" });
  void untyped.trigger("whatever", { a: 1 });
  const loop = createClient<Module & Loop>({ url: "http://localhost" });
  void loop.trigger("made_7", { a: 1 });
  void loop.trigger("sales_daily", { region: "eu" });
}

export function wrongUses(error: unknown): void {
  const client = createClient<Module>({ url: "http://localhost" });
  // @ts-expect-error a DAG that is not there
  void client.trigger("sales_dayly", { region: "eu" });
  // @ts-expect-error params are needed
  void client.trigger("sales_daily");
  // @ts-expect-error a required one is missing
  void client.trigger("sales_daily", { days: 1 });
  // @ts-expect-error a wrong value
  void client.trigger("sales_daily", { region: "mars" });
  // @ts-expect-error a wrong type
  void client.trigger("sales_daily", { region: "eu", days: "3" });
  // @ts-expect-error a param that is not there
  void client.trigger("sales_daily", { region: "eu", dayz: 3 });
  // @ts-expect-error an option that is not there
  void client.trigger("hello", {}, { logicalDay: "2026-05-09" });
  const loop = createClient<Module & Loop>({ url: "http://localhost" });
  // @ts-expect-error params of a DAG that is known, beside some that are not
  void loop.trigger("sales_daily", { region: "mars" });
  // @ts-expect-error a misspelt code
  if (error instanceof ApiError) error.is("run_exits");
  // @ts-expect-error an address is needed
  createClient({});
  // @ts-expect-error a state that is not there
  client.runs.list({ state: ["succeeded"] });
  if (error instanceof ApiError && error.is("run_exists")) {
    expectTypeOf(error.details.runId).toEqualTypeOf<string>();
    // @ts-expect-error an id is text
    void error.details.runId.toFixed();
  }
}

describe("F5: types can fail", () => {
  /** What the compiler says of a program that uses real DAGs. */
  const compiled = (use: string): string =>
    compile(`import { z } from "zod";
import { dag, task } from "../../authoring/index.ts";
import { createClient } from "../../remote/index.ts";
const dags = {
  sales: dag("sales_daily", { params: z.object({ region: z.enum(["eu", "us"]), days: z.int().default(1) }) }, ({ task }) => {
    task("load", ({ params }) => params.region);
  }),
  hello: dag("hello", {}, () => void task("greet", () => "hello")),
};
const client = createClient<typeof dags>({ url: "http://localhost" });
export const answer = ${use};
`);

  test("a trigger is checked against the DAGs' own params", { timeout: 120_000 }, () => {
    expect(compiled(`client.trigger("sales_daily", { region: "eu" })`)).toBe("");
    expect(compiled(`client.trigger("hello")`)).toBe("");
    expect(compiled(`client.trigger("sales_daily", { region: "mars" })`)).toContain(
      `'"mars"' is not assignable`,
    );
    expect(compiled(`client.trigger("sales", { region: "eu" })`)).toContain(`'"sales"' is not assignable`);
  });
});
