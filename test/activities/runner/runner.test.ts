import { describe, expect, it } from "vitest";
import { bundle, given, ran } from "./support.ts";

describe("runner: a body's outcome", () => {
  it("returns the output of a TypeScript-era bundle in a thread that has tsx of its own", async () => {
    const code = bundle({ add: "({ inputs, ds }) => ({ sum: inputs.a + inputs.b, ds })" });
    const { outcome } = await ran(given(), code, "add", { inputs: { a: 1, b: 2 } });
    expect(outcome).toEqual({ kind: "success", output: { sum: 3, ds: "2026-05-09" } });
  });
});
