/** Checked by the compiler: each `@ts-expect-error` is an error of its own once the line below it compiles. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { dag, task } from "../../authoring/index.ts";
import type { NotJson, Output } from "../../authoring/index.ts";
import { compile } from "../support/compiler.ts";

interface Row {
  readonly id: number;
  readonly note?: string;
  readonly tags: readonly string[];
  readonly parent: Row | null;
}
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Branded = string & { readonly brand: "day" };

/** Never called. What JSON keeps has its own type, by its own name. */
export function kept(): void {
  expectTypeOf<Output<Row[]>>().toEqualTypeOf<Row[]>();
  expectTypeOf<Output<Promise<Row>>>().toEqualTypeOf<Row>();
  expectTypeOf<Output<Json>>().toEqualTypeOf<Json>();
  expectTypeOf<Output<[string, number]>>().toEqualTypeOf<[string, number]>();
  expectTypeOf<Output<readonly { readonly day: Branded }[]>>().toEqualTypeOf<
    readonly { readonly day: Branded }[]
  >();
  expectTypeOf<Output<{ kind: "a"; n: 1 } | { kind: "b" }>>().toEqualTypeOf<
    { kind: "a"; n: 1 } | { kind: "b" }
  >();
  expectTypeOf<Output<Record<string, number>>>().toEqualTypeOf<Record<string, number>>();
  expectTypeOf<Output<{ x: unknown }>>().toEqualTypeOf<{ x: unknown }>();
  expectTypeOf<Output<unknown>>().toBeUnknown();
  expectTypeOf<Output<never>>().toBeNever();
  expectTypeOf<Output<void>>().toEqualTypeOf<null>();
  expectTypeOf<Output<{ ds: string } | undefined>>().toEqualTypeOf<{ ds: string } | null>();
  // JSON leaves out what is undefined: the key may be missing.
  expectTypeOf<Output<{ a: number | undefined; b: string }>>().toEqualTypeOf<{ a?: number; b: string }>();
}

/** Never called. What JSON loses is nothing that a consumer could use. */
export function lost(): void {
  expectTypeOf<Output<Date>>().toEqualTypeOf<NotJson<"a Date", "return value.toISOString()">>();
  expectTypeOf<Output<{ at: Date; n: number }>>().toEqualTypeOf<{
    at: NotJson<"a Date", "return value.toISOString()">;
    n: number;
  }>();
  dag("lost", {}, () => {
    const date = task("date", async () => ({ rows: [{ at: new Date(), id: 1 }] }));
    const big = task("big", () => 9007199254740993n);
    const map = task("map", () => ({ byId: new Map([["a", 1]]), seen: new Set(["a"]) }));
    const bytes = task("bytes", () => Buffer.from("x"));
    const hole = task("hole", (): { list: (number | undefined)[] } => ({ list: [] }));
    task("reads", { inputs: { date, big, map, bytes, hole } }, ({ inputs }) => {
      expectTypeOf(inputs.date.rows[0]!.id).toEqualTypeOf<number>();
      // @ts-expect-error a Date would arrive as a text, so its try fails
      inputs.date.rows[0]?.at.getTime();
      // @ts-expect-error and it is no text either
      inputs.date.rows[0]?.at.slice(0, 10);
      // @ts-expect-error JSON has no bigint
      void (inputs.big + 1n);
      // @ts-expect-error a Map would arrive as {}
      inputs.map.byId.get("a");
      // @ts-expect-error so would a Set
      inputs.map.seen.has("a");
      // @ts-expect-error bytes would arrive as an object with numbers for keys
      void inputs.bytes.byteLength;
      // @ts-expect-error undefined in a list would arrive as null
      void (inputs.hole.list satisfies (number | undefined)[]);
    });
  });
}

describe("K58: output types can fail", () => {
  const compiled = (use: string): string =>
    compile(`import { dag, task } from "../../authoring/index.ts";
dag("d", {}, () => {
  const rows = task("rows", () => ({ at: new Date(), text: "x" }));
  task("reads", { inputs: { rows } }, ({ inputs }) => ${use});
});
`);

  it(
    "what arrives compiles; what is lost is refused, with what to return instead",
    { timeout: 120_000 },
    () => {
      expect(compiled("inputs.rows.text.length")).toBe("");
      const refusal = compiled("inputs.rows.at.getTime()");
      expect(refusal).toContain("'getTime' does not exist");
      expect(refusal).toContain('NotJson<"a Date", "return value.toISOString()">');
    },
  );
});
