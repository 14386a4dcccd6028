import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { fail, skip } from "../../authoring/index.ts";
import { outcomeOf, outcomeOfReturn } from "../../authoring/outcome.ts";
import { DefinitionError, Retryable, Terminal } from "../../core/errors.ts";

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  throw new Error("nothing was thrown");
}

const errorOf = (thrown: unknown) => {
  const outcome = outcomeOf(thrown);
  if (outcome.kind !== "failed") throw new Error(outcome.kind);
  return outcome.error;
};

describe("from what a body threw to its outcome", () => {
  test("skip", () => {
    expect(outcomeOf(thrownBy(() => skip("no rows")))).toEqual({ kind: "skipped", message: "no rows" });
    expect(outcomeOf(thrownBy(() => skip()))).toEqual({ kind: "skipped", message: "" });
  });

  test("fail is not retried and keeps its cause", () => {
    const error = errorOf(thrownBy(() => fail("bad row", { cause: new TypeError("inner") })));
    expect(error).toMatchObject({ code: "Fail", message: "bad row", retryable: false });
    expect(error.stack).toMatch(/^Fail: bad row\n +at .*outcome\.test\.ts[^]*caused by: TypeError: inner/);
  });

  test("any other error may be retried, and is named by its class", () => {
    class OutOfStock extends Error {}
    expect(errorOf(new OutOfStock("no shoes"))).toMatchObject({
      code: "OutOfStock",
      message: "no shoes",
      retryable: true,
    });
    expect(errorOf(new TypeError("x"))).toMatchObject({ code: "TypeError", retryable: true });
    expect(errorOf(new Error("x"))).toMatchObject({ code: "Error", retryable: true });
  });

  test("errors of another realm, and marks that survive a copy of the library", () => {
    expect(errorOf(runInNewContext("new RangeError('far')"))).toMatchObject({
      code: "RangeError",
      message: "far",
    });
    const foreign = Object.assign(runInNewContext("new Error('later')") as Error, {
      [Symbol.for("meridian.outcome")]: "skip",
    });
    expect(outcomeOf(foreign)).toEqual({ kind: "skipped", message: "later" });
  });

  test("our own errors by their kind", () => {
    expect(errorOf(new Terminal("connection_missing", "no"))).toMatchObject({
      code: "connection_missing",
      retryable: false,
    });
    expect(errorOf(new DefinitionError("bad_id", "no"))).toMatchObject({ code: "bad_id", retryable: false });
    expect(errorOf(new Retryable("busy", "no"))).toMatchObject({ code: "busy", retryable: true });
  });

  test("an error without a message of its own", () => {
    const refused = Object.assign(
      new AggregateError([new Error("connect ::1"), new Error("connect 127.0.0.1")]),
      { code: "ECONNREFUSED" },
    );
    expect(errorOf(refused)).toMatchObject({
      code: "AggregateError",
      message: "connect ::1; connect 127.0.0.1",
    });
    expect(errorOf(Object.assign(new Error(), { code: "EPIPE" })).message).toBe("EPIPE");
  });

  test.each([
    ["text", "text"],
    [undefined, "undefined"],
    [null, "null"],
    [{ status: 500 }, '{"status":500}'],
    [12n, "12"],
  ])("%# what is no error at all", (thrown, message) => {
    expect(errorOf(thrown)).toMatchObject({
      code: typeof thrown === "object" && thrown !== null ? "Object" : "Error",
      message,
      retryable: true,
    });
  });

  test("hostile values do not harm the runner", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    expect(errorOf(hostile)).toMatchObject({ code: "Error", retryable: true });
    const looped = new Error("a");
    looped.cause = looped;
    expect(errorOf(looped).message).toBe("a");
  });

  test("long and unstorable texts are cut and mended", () => {
    const error = errorOf(new Error(`\0${"x".repeat(1_000_000)}`));
    expect(error.message).toMatch(/^\ufffdx+… \(992001 more characters\)$/);
    expect(error.stack!.length).toBeLessThan(20_000);
  });

  test("an output that cannot be stored is a failure", () => {
    expect(outcomeOfReturn({ n: 1 })).toEqual({ kind: "success", output: { n: 1 } });
    expect(outcomeOfReturn(undefined)).toEqual({ kind: "success", output: null });
    expect(outcomeOfReturn(1n)).toMatchObject({
      kind: "failed",
      error: { code: "output_not_json", retryable: false },
    });
  });
});
