import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { OUTPUT_LIMIT_BYTES, storableText, toOutput } from "../../authoring/output.ts";

const messageOf = (value: unknown): string => {
  const checked = toOutput(value);
  if (checked.ok) throw new Error(`accepted as ${checked.json}`);
  expect(checked.error).toMatchObject({ code: "output_not_json", retryable: false });
  return checked.error.message;
};

describe("A12 K57 K58: outputs are JSON", () => {
  test.each([
    [{ rows: [{ price: NaN }] }, "output.rows[0].price is NaN"],
    [[Infinity], "output[0] is Infinity"],
    [{ id: 1n }, "output.id is a bigint"],
    [new Map(), "output is a Map, which JSON cannot hold; return Object.fromEntries(value)"],
    [{ seen: new Set() }, "output.seen is a Set"],
    [{ at: new Date(0) }, "output.at is a Date, which JSON cannot hold; return value.toISOString()"],
    [{ "a b": () => 1 }, 'output["a b"] is of type function'],
    [[1, undefined], "output[1] is of type undefined"],
    // oxlint-disable-next-line no-sparse-arrays
    [[1, , 3], "output[1] is of type undefined"],
    [Symbol("x"), "output is of type symbol"],
    [new (class Order {})(), "output is an Order"],
    [
      { n: 9007199254740993n },
      "output.n is a bigint, which JSON cannot hold; return String(value) or Number(value)",
    ],
    [{ x: NaN, y: [1, Infinity] }, "output.x is NaN"],
    [new Uint8Array(2), "output is a Uint8Array"],
    [[[undefined]], "output[0][0] is of type undefined"],
    [{ bytes: Buffer.from("x") }, "output.bytes is a Buffer"],
    [Promise.resolve(1), "output is a Promise"],
    [/x/, "output is a RegExp"],
    [new Error("x"), "output is an Error"],
    [{ text: "a\0b" }, "output.text is a text with the character U+0000"],
    [{ "a\0": 1 }, "a key of output is a text with the character U+0000"],
    [["\ud800"], "output[0] is a text with half of a surrogate pair"],
    [{ toJSON: () => 1 }, "output.toJSON is of type function"],
  ])("%# what JSON or the store would lose: %s", (value, start) => {
    expect(messageOf(value)).toContain(start);
  });

  test("a circle names where it closes", () => {
    const order: Record<string, unknown> = { lines: [{}] };
    (order["lines"] as Record<string, unknown>[])[0]!["order"] = order;
    expect(messageOf(order)).toMatch(/^output\.lines\[0\]\.order is a circle/);
  });

  test("too deep, and unreadable", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(messageOf(deep)).toContain("nested deeper than 500 levels");
    expect(
      messageOf({
        get x() {
          throw new Error("no");
        },
      }),
    ).toBe("output cannot be read: no");
  });

  test.each([
    [undefined, null],
    [null, null],
    [{ a: undefined, b: [1, "x", true, null, { c: -0 }] }, { b: [1, "x", true, null, { c: 0 }] }],
    [Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    [runInNewContext("({ a: [1, { b: 2 }] })"), { a: [1, { b: 2 }] }],
    ["\u{1F600}é", "\u{1F600}é"],
  ])("%# what it keeps", (value, kept) => {
    expect(toOutput(value)).toMatchObject({ ok: true, json: JSON.stringify(kept) });
  });

  test("the copy shares nothing, and the same object may stand in two places", () => {
    const shared = { n: 1 };
    const checked = toOutput({ a: shared, b: shared });
    shared.n = 2;
    expect(checked).toMatchObject({ ok: true, json: '{"a":{"n":1},"b":{"n":1}}' });
  });

  test("an own key named __proto__ survives", () => {
    const text = '{"__proto__":{"a":1}}';
    expect(toOutput(JSON.parse(text))).toMatchObject({ ok: true, json: text });
  });
});

describe("A12: outputs are bounded", () => {
  test("size and limit stand in the message; bytes are counted, not characters", () => {
    const limit = 1024 * 1024;
    expect(toOutput("x".repeat(limit - 2), limit)).toMatchObject({ ok: true, bytes: limit });
    expect(toOutput("é".repeat(limit / 2), limit)).toEqual({
      ok: false,
      error: {
        code: "output_too_large",
        message:
          "output is 1.0 MiB (1048578 bytes); the limit is 1.0 MiB (1048576 bytes): write the data to a table or a bucket and return where it is",
        retryable: false,
      },
    });
    expect(toOutput([1, 2, 3], 6)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("output is 7 bytes; the limit is 6 bytes") },
    });
  });

  test("a body may return 100 MiB and no more", () => {
    const text = "x".repeat(OUTPUT_LIMIT_BYTES - 2);
    expect(toOutput(text)).toMatchObject({ ok: true, bytes: OUTPUT_LIMIT_BYTES });
    expect(toOutput(`${text}x`)).toMatchObject({
      ok: false,
      error: {
        message: expect.stringContaining(
          "output is at least 100.0 MiB (104857601 bytes); the limit is 100.0 MiB (104857600 bytes): write",
        ),
      },
    });
  });

  test("a value that doubles at each level is given up at the limit; so is one whose text no string holds", () => {
    let value: unknown = "x".repeat(100);
    for (let i = 0; i < 60; i++) value = [value, value];
    const tooLarge = (size: string) => ({
      ok: false,
      error: {
        code: "output_too_large",
        message: expect.stringContaining(`output is ${size}; the limit is`),
      },
    });
    expect(toOutput(value, 1000)).toMatchObject(tooLarge("at least 1.1 KiB (1087 bytes)"));
    expect(toOutput("\u0001".repeat(OUTPUT_LIMIT_BYTES - 2))).toMatchObject(
      tooLarge("longer than a text can be"),
    );
  });
});

test("storableText replaces what the database cannot hold", () => {
  expect(storableText("a\0b\ud800c\u{1F600}\udc00")).toBe("a\ufffdb\ufffdc\u{1F600}\ufffd");
});
