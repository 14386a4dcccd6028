import { describe, expect, test } from "vitest";
import { z } from "zod";
import { dag } from "../../authoring/index.ts";
import { checkParams } from "../../platform/params.ts";

const schemaOf = (params: z.ZodType<object, object>) => dag("d", { params }, () => {}).graph.params!;

describe("A12: a conf is checked by the stored schema as the body's own schema would", () => {
  const node = z.object({
    name: z.string(),
    get children() {
      return z.array(node).optional();
    },
  });
  /** Schemas of one param, with values; zod itself is the oracle. */
  const cases: readonly [string, z.ZodType, readonly unknown[]][] = [
    ["text", z.string().min(2).max(3), ["", "ab", "abcd", 1, null, []]],
    ["pattern", z.string().regex(/^a\d$/), ["a1", "b1", "a11"]],
    ["enum", z.enum(["eu", "us"]), ["eu", "de", 1]],
    ["literals", z.literal([1, "a", null]), [1, "a", null, 2, "null"]],
    ["number", z.number().gt(0).lt(10).multipleOf(0.1), [0, 0.3, 10, 9.9, 0.15, "1"]],
    ["whole number", z.int().min(-1), [-1, -2, 1.5, 2 ** 53]],
    ["boolean", z.boolean(), [true, "true", 0]],
    ["date", z.iso.date(), ["2026-02-28", "2026-02-29", "2024-02-29", "2026-5-9", 1]],
    [
      "instant",
      z.iso.datetime(),
      ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00", "2026-01-01T00:00:00"],
    ],
    [
      "instant with offset",
      z.iso.datetime({ offset: true }),
      ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00", "2026-01-01T00:00:00"],
    ],
    ["local instant", z.iso.datetime({ local: true }), ["2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "x"]],
    ["time", z.iso.time(), ["10:30:00", "25:00:00"]],
    ["e-mail", z.email(), ["ana@example.com", "ana", "a@b"]],
    ["own e-mail", z.email({ pattern: /@example\.com$/ }), ["ana@example.com", "ana@other.com"]],
    ["uuid", z.uuid(), ["550e8400-e29b-41d4-a716-446655440000", "550e8400"]],
    ["url", z.url(), ["https://example.com/x", "x"]],
    ["nullable", z.string().nullable(), [null, "x", 1]],
    ["union", z.union([z.string(), z.number()]), ["x", 1, true]],
    ["list", z.array(z.number()).min(1).max(2), [[], [1], [1, "a"], [1, 2, 3], "x"]],
    ["tuple", z.tuple([z.string(), z.number()]), [["a", 1], ["a"], ["a", 1, 2], [1, "a"]]],
    ["tuple with rest", z.tuple([z.string()], z.number()), [["a"], ["a", 1, 2], ["a", "b"], []]],
    ["record", z.record(z.string(), z.number()), [{}, { a: 1 }, { a: "x" }]],
    ["record of words", z.partialRecord(z.enum(["a", "b"]), z.number()), [{ a: 1 }, { c: 1 }]],
    [
      "object",
      z.object({ a: z.string(), b: z.number().optional() }),
      [{ a: "x" }, {}, { a: "x", b: "y" }, []],
    ],
    ["strict object", z.strictObject({ a: z.string() }), [{ a: "x" }, { a: "x", b: 1 }]],
    ["loose object", z.looseObject({ a: z.string() }), [{ a: "x", b: 1 }, { b: 1 }]],
    [
      "discriminated",
      z.discriminatedUnion("k", [
        z.object({ k: z.literal("a"), x: z.number() }),
        z.object({ k: z.literal("b") }),
      ]),
      [{ k: "a", x: 1 }, { k: "a" }, { k: "b" }, { k: "c" }, {}],
    ],
    [
      "intersection",
      z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
      [{ a: "x", b: "y" }, { a: "x" }],
    ],
    [
      "recursive",
      node,
      [
        { name: "x", children: [{ name: "y" }] },
        { name: "x", children: [{ name: 1 }] },
      ],
    ],
    ["transformed", z.string().transform((text) => text.length), ["x", 1]],
    ["anything", z.unknown().optional(), [1, null, "x", []]],
    ["JSON", z.json(), [1, null, { a: [1] }]],
  ];
  for (const [name, param, values] of cases) {
    test(name, () => {
      const params = z.object({ p: param });
      const schema = schemaOf(params);
      for (const p of values) {
        const fits = params.safeParse({ p }).success;
        expect({ p, fits: checkParams(schema, { p }).length === 0 }).toEqual({ p, fits });
      }
    });
  }

  test("a word of JSON Schema that is not known here leaves the check to the run", () => {
    const schema = { type: "object", properties: { a: { type: "string" } }, if: {}, unevaluatedItems: false };
    expect(checkParams(schema, { a: 1 })).toEqual([]);
  });
});

describe("A12: what a body takes is never refused before it", () => {
  const date = z.iso.date();
  const cases: readonly [string, z.ZodType, readonly unknown[]][] = [
    ["a pattern that ignores case", z.string().regex(/^[a-z]+$/i), ["ABC", "abc"]],
    ["a pattern of Unicode classes", z.string().regex(/^\p{L}+$/u), ["Zürich", "abc"]],
    ["a pattern of lines", z.string().regex(/^b$/m), ["a\nb"]],
    ["a dot for all", z.string().regex(/^a.b$/s), ["a\nb"]],
    ["two patterns, one with a flag", z.string().regex(/a/).regex(/b/i), ["aB"]],
    ["emoji", z.emoji(), ["😀"]],
    ["own e-mail", z.email({ pattern: /@example\.com$/i }), ["ana@EXAMPLE.com"]],
    [
      "a pattern behind a change",
      z
        .string()
        .toUpperCase()
        .regex(/^[A-Z]+$/),
      ["eu"],
    ],
    ["a length behind a change", z.string().trim().max(3), [" abc "]],
    [
      "a length behind padding",
      z
        .string()
        .overwrite((text) => text.padStart(4, "0"))
        .length(4),
      ["7"],
    ],
    ["a bound behind a change", z.number().overwrite(Math.ceil).min(3), [2.5]],
    ["a change in the depth", z.array(z.object({ code: z.string().trim().length(2) })), [[{ code: " eu" }]]],
    [
      "a default behind a transform",
      date.transform((day) => new Date(day)).default(new Date(0)),
      [undefined],
    ],
  ];
  test.each(cases)("%s", async (_name, p, values) => {
    const params = z.object({ p });
    const made = dag("d", { params }, () => {});
    for (const value of values) {
      const conf = JSON.parse(JSON.stringify({ p: value })) as Record<string, unknown>;
      await made.readParams(conf);
      expect(checkParams(made.graph.params!, conf)).toEqual([]);
    }
  });

  test("rules before a change, and an empty text, are refused all the same", () => {
    const params = z.object({ a: z.string().max(2).toUpperCase(), b: z.string().trim().min(2) });
    const errors = checkParams(schemaOf(params), { a: "abc", b: "" });
    expect(errors.map(({ path }) => path)).toEqual(["a", "b"]);
  });
});

describe("A12: each error has its path and what was expected there", () => {
  const schema = schemaOf(
    z.object({
      region: z.enum(["eu", "us"]).default("eu"),
      since: z.iso.date().optional(),
      local: z.iso.datetime({ local: true }).optional(),
      window: z.object({ days: z.array(z.int()) }).optional(),
      either: z.union([z.string(), z.number()]).optional(),
      kind: z
        .discriminatedUnion("k", [
          z.object({ k: z.literal("a"), x: z.number() }),
          z.object({ k: z.literal("b") }),
        ])
        .optional(),
    }),
  );
  const cases: readonly [unknown, readonly [string, string][]][] = [
    [{}, []],
    [{ region: "de" }, [["region", 'Invalid option: expected one of "eu"|"us"']]],
    [{ regoin: "eu" }, [["regoin", 'does not exist; did you mean "region"?']]],
    [{ x: 1 }, [["x", "does not exist; expected one of region, since, local, window, either, kind"]]],
    [{ since: "May" }, [["since", "is no date such as 2026-05-09"]]],
    [{ local: "May" }, [["local", "has another form than the DAG expects"]]],
    [{ window: {} }, [["window.days", "is missing; expected array"]]],
    [
      { window: { days: [1, 1.5] } },
      [["window.days[1]", "Invalid input: expected a whole number, received 1.5"]],
    ],
    [{ window: { days: [1], dyas: 1 } }, [["window.dyas", 'does not exist; did you mean "days"?']]],
    [{ either: true }, [["either", "Invalid input: expected string or number"]]],
    [{ kind: { k: "c" } }, [["kind.k", 'Invalid input: expected "a" or "b"']]],
    [{ kind: {} }, [["kind.k", 'is missing; expected "a" or "b"']]],
    [{ kind: { k: "a" } }, [["kind.x", "is missing; expected number"]]],
    [{ kind: { k: "a", x: 1, z: 1 } }, [["kind.z", "does not exist"]]],
    [
      { region: 1, since: 2 },
      [
        ["region", 'Invalid option: expected one of "eu"|"us"'],
        ["since", "Invalid input: expected string, received number"],
      ],
    ],
    [[], [["", "Invalid input: expected object, received array"]]],
    [null, [["", "Invalid input: expected object, received null"]]],
  ];
  test.each(cases)("%j", (conf, expected) => {
    const errors = checkParams(schema, conf).map(({ path, message }) => [path, message]);
    expect(errors).toHaveLength(expected.length);
    expect(errors).toEqual(expect.arrayContaining([...expected]));
  });

  test("keys of another prototype are no params", () => {
    expect(checkParams(schema, JSON.parse('{"__proto__": 1, "toString": 2}'))).toHaveLength(2);
  });
});
