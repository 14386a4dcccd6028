import { z } from "zod";
import { describe, expect, test } from "vitest";
import { paramErrors } from "../../core/params.ts";
import { fieldsOf, type Field } from "../../web/src/trigger/fields.ts";
import { rulesInWords } from "../../web/src/trigger/rule-words.ts";
import { payloadShape } from "../../web/src/trigger/shapes.ts";
import {
  confAsTyped,
  errorsByField,
  readField,
  readForm,
  typedOf,
  type Typed,
} from "../../web/src/trigger/values.ts";

const schemaOf = (of: z.ZodType): Record<string, unknown> =>
  z.toJSONSchema(of, { io: "input" }) as Record<string, unknown>;
const fieldOf = (of: z.ZodType): Field => fieldsOf(schemaOf(z.object({ it: of })))![0]!;
const typed = (text: string): Typed => ({ text, isNull: false });
const read = (of: z.ZodType, text: string, zone = "UTC"): unknown => {
  const found = readField(fieldOf(of), typed(text), zone);
  return found.kind === "value" ? found.value : found.kind === "wrong" ? `! ${found.message}` : undefined;
};

describe("A12: fields of a DAG's params", () => {
  test.each([
    ["text", z.string(), "text", true],
    ["a default", z.string().default("x"), "text", false],
    ["a whole number", z.int(), "number", true],
    ["optional", z.number().optional(), "number", false],
    ["a boolean", z.boolean(), "boolean", true],
    ["an enum", z.enum(["a", "b"]), "choice", true],
    ["literals of several types", z.union([z.literal("a"), z.literal(3)]), "choice", true],
    ["a day", z.iso.date(), "date", true],
    ["an instant", z.iso.datetime(), "date-time", true],
    ["a list", z.array(z.string()), "json", true],
    ["an object", z.object({ a: z.int() }), "json", true],
    ["a union", z.union([z.string(), z.number()]), "json", true],
    ["an e-mail address", z.email(), "text", true],
  ] as const)("%s", (_name, of, kind, needed) => {
    expect(fieldOf(of)).toMatchObject({ kind, needed, nullable: false });
  });

  test("null beside something else is a switch of its own, however the schema says it", () => {
    expect(fieldOf(z.string().nullable())).toMatchObject({ kind: "text", nullable: true });
    expect(fieldOf(z.enum(["a"]).nullable())).toMatchObject({ kind: "choice", nullable: true });
    expect(fieldOf(z.int().nullable().default(null))).toMatchObject({
      kind: "number",
      nullable: true,
      initial: null,
    });
    expect(fieldOf(z.union([z.string(), z.int(), z.null()]))).toMatchObject({ kind: "json", nullable: true });
  });

  test("references are followed; titles and descriptions are found", () => {
    const region = z.enum(["n", "s"]).meta({ id: "Region", title: "Region", description: "Which" });
    const fields = fieldsOf(schemaOf(z.object({ from: region, to: region })))!;
    expect(fields.map(({ kind, title, description }) => [kind, title, description])).toEqual([
      ["choice", "Region", "Which"],
      ["choice", "Region", "Which"],
    ]);
  });

  test("fields stand as the author wrote them, though storing sorts the keys", () => {
    const sorted = { type: "object", "x-order": ["z", "a"], properties: { a: {}, new: {}, z: {} } };
    expect(fieldsOf(sorted)!.map((field) => field.name)).toEqual(["z", "a", "new"]);
  });

  test("what is no object of known properties has no form", () => {
    expect(fieldsOf(schemaOf(z.record(z.string(), z.int())))).toBeNull();
    expect(fieldsOf({})).toBeNull();
    expect(fieldsOf({ type: "object", properties: {} })).toBeNull();
  });

  test("rules in words leave out what says nothing", () => {
    expect(rulesInWords(fieldOf(z.int()), "UTC")).toBe("a whole number");
    expect(rulesInWords(fieldOf(z.int().min(1).max(9)), "UTC")).toBe("a whole number from 1 to 9");
    expect(rulesInWords(fieldOf(z.number().gt(0)), "UTC")).toBe("a number above 0");
    expect(rulesInWords(fieldOf(z.string().max(5)), "UTC")).toBe("at most 5 characters");
    expect(rulesInWords(fieldOf(z.array(z.int())), "UTC")).toBe("a list of integers, as JSON");
  });
});

describe("A12: what is typed, as values", () => {
  test.each([
    [z.int().max(5), "5", 5],
    [z.int().max(5), "6", "! Too large: at most 5"],
    [z.int(), "1.5", "! Not a whole number"],
    [z.int(), "12 days", "! Not a number: 12 days"],
    [z.number(), "1e3", 1000],
    [z.number().gt(0), "0", "! Too small: above 0"],
    [z.number().multipleOf(0.1), "0.3", 0.3],
    [z.string().min(3), "ab", "! Too short: at least 3 characters, it has 2"],
    [z.string().regex(/^C\d{4}$/), "C12", "! Does not match ^C\\d{4}$"],
    [z.string(), " kept as it is ", " kept as it is "],
    [z.string(), "", "! Needed: there is no default for it"],
    [z.string().optional(), "", undefined],
    [z.string().default("x"), "", ""],
    [z.int().default(7), "", undefined],
    [z.iso.date(), "2026-02-30", "! Not a day: write it like 2026-05-09"],
    [z.iso.date(), "2026-02-28", "2026-02-28"],
    [z.array(z.string()), '["a"]', ["a"]],
    [z.array(z.string()), '{"a": 1}', '! Expected a list, such as ["a", "b"]'],
    [z.object({ a: z.int() }), "[1]", '! Expected an object, such as {"a": 1}'],
    [z.union([z.literal("a"), z.literal(3)]), "3", 3],
  ] as const)("%# %s", (of, text, expected) => {
    expect(read(of, text)).toEqual(expected);
  });

  test("an instant is read on the clocks of the zone, and shown so that it is read the same", () => {
    expect(read(z.iso.datetime(), "2026-05-09 14:30", "Europe/Berlin")).toBe("2026-05-09T12:30:00.000Z");
    expect(read(z.iso.datetime(), "2026-03-29 02:30", "Europe/Berlin")).toContain("leave this time out");
    const field = fieldOf(z.iso.datetime());
    for (const at of ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z", "2026-05-09T12:30:00.250Z"]) {
      const shown = typedOf(field, at, "Europe/Berlin");
      expect(readField(field, shown, "Europe/Berlin")).toEqual({ kind: "value", value: at });
    }
  });

  test("what the form reads, zod takes; what it refuses, zod refuses", () => {
    const schema = z.object({
      n: z.int().min(1).max(5).default(2),
      s: z.string().min(2).max(4).nullable(),
      d: z.iso.datetime().optional(),
      l: z.array(z.string()).default([]),
      e: z.enum(["a", "b"]),
    });
    const fields = fieldsOf(schemaOf(schema))!;
    const good = {
      n: typed("4"),
      s: { text: "", isNull: true },
      d: typed("2026-05-09"),
      l: typed(""),
      e: typed('"b"'),
    };
    const form = readForm(fields, good, "UTC");
    expect(form).toEqual({ kind: "conf", conf: { n: 4, s: null, d: "2026-05-09T00:00:00.000Z", e: "b" } });
    expect(schema.safeParse(form.kind === "conf" ? form.conf : null).success).toBe(true);
    const bad = { n: typed("9"), s: typed("x"), d: typed("soon"), l: typed("[1"), e: typed("") };
    const refused = readForm(fields, bad, "UTC");
    expect(refused.kind === "wrong" ? [...refused.messages.keys()] : []).toEqual(["n", "s", "d", "l", "e"]);
    // Nothing that was typed is lost on the way to JSON.
    expect(confAsTyped(fields, bad, "UTC")).toEqual({ n: "9", s: "x", d: "soon", l: "[1" });
  });

  test("A6: what a wait is ended with may be any JSON; a schema of one value is one field, there and back", () => {
    expect(payloadShape(null)).toMatchObject({ fields: null });
    expect(payloadShape(schemaOf(z.array(z.int()))).fields).toBeNull();
    expect(["", "[1]", "null"].map((text) => payloadShape(null).parse(text))).toEqual([
      { kind: "value", value: null },
      { kind: "value", value: [1] },
      { kind: "value", value: null },
    ]);
    expect(payloadShape(null).parse("yes")).toMatchObject({ kind: "wrong" });
    const one = payloadShape(schemaOf(z.enum(["go", "no go"])));
    expect(one.fields).toMatchObject([{ name: "payload", kind: "choice", needed: true }]);
    expect(one.sentOf({ payload: "go" })).toBe("go");
    expect(one.valuesOf("go")).toEqual({ payload: "go" });
    expect(errorsByField(one.fields!, [{ path: one.pathOf(""), message: "no" }])).toEqual({
      byField: new Map([["payload", "no"]]),
      rest: [],
    });
    const many = payloadShape(schemaOf(z.object({ by: z.string() })));
    expect([many.valuesOf({ by: "ada" }), many.valuesOf(7), many.sentOf({ by: "ada" })]).toEqual([
      { by: "ada" },
      null,
      { by: "ada" },
    ]);
  });

  test("what the API says of a part stands at its field", () => {
    const schema = z.object({ window: z.object({ days: z.array(z.int()) }), "a.b": z.int() });
    const jsonSchema = schemaOf(schema);
    const value = { window: { days: [1, "x"] }, "a.b": "y" };
    const issues = schema.safeParse(value).error!.issues;
    const errors = [...paramErrors(jsonSchema, value, issues), { path: "region", message: "does not exist" }];
    const { byField, rest } = errorsByField(fieldsOf(jsonSchema)!, errors);
    expect(byField.get("window")).toMatch(/^days\[1\]: /);
    expect(byField.has("a.b")).toBe(true);
    expect(rest).toEqual(["region: does not exist"]);
  });
});
