import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { dag, task } from "../../authoring/index.ts";
import { renderTask, runDag, runTask } from "../../authoring/testing.ts";
import { canonicalJson } from "../../core/canonical.ts";

const looseDag = dag as (...args: unknown[]) => unknown;
const none = (): void => {};

describe("A12: params by a zod object", () => {
  const sales = dag(
    "sales",
    {
      params: z.object({
        region: z.enum(["eu", "us"]).default("eu").describe("Where it was sold"),
        since: z.iso
          .date()
          .optional()
          .transform((text) => (text === undefined ? null : new Date(text))),
        limit: z.coerce.number().int().min(1).default(10),
      }),
    },
    ({ task }) => {
      task("read", ({ params, conf }) => [
        params.region,
        params.since?.toISOString() ?? null,
        params.limit,
        conf,
      ]);
    },
  );
  const outputOf = async (conf?: Record<string, unknown>) =>
    (await runDag(sales, conf === undefined ? {} : { conf })).tasks["read"];

  test("the graph holds their JSON Schema, of what a trigger gives, with the order of the form", () => {
    expect(sales.graph.params).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        region: { type: "string", enum: ["eu", "us"], default: "eu", description: "Where it was sold" },
        since: { type: "string", format: "date", pattern: expect.any(String) },
        limit: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 10 },
      },
      additionalProperties: false,
      "x-order": ["region", "since", "limit"],
    });
    expect(() => canonicalJson(sales.graph)).not.toThrow();
    expect(dag("plain", {}, none).graph.params).toBeNull();
  });

  test("a body gets defaults and transforms; conf stays as it came", async () => {
    expect((await outputOf())?.output).toEqual(["eu", null, 10, {}]);
    const conf = { region: "us", since: "2026-05-09" };
    expect((await outputOf(conf))?.output).toEqual(["us", "2026-05-09T00:00:00.000Z", 10, conf]);
  });

  test("what does not fit is refused before any task runs: all of it, with what was expected, and the caller's stack", async () => {
    const conf = { region: "de", since: "May", limit: 0, regoin: "us" };
    const tried: unknown[] = [];
    const refused = await runDag(sales, { conf, onState: (...state) => tried.push(state) }).catch(
      (error: unknown) => error as Error,
    );
    expect(tried).toEqual([]);
    expect(refused).toMatchObject({ kind: "refused", code: "bad_params" });
    const { message, stack = "" } = refused as Error;
    for (const part of [
      'conf does not fit the params of dag "sales": regoin: does not exist; did you mean "region"?; ',
      'region: Invalid option: expected one of "eu"|"us"',
      "since: Invalid ISO date",
      "limit: ",
    ]) {
      expect(message).toContain(part);
    }
    expect(stack).toContain("params.test.ts");
    expect(stack).not.toMatch(/[\\/]authoring[\\/][a-z-]+\.ts/);
    await expect(runTask(sales, "read", { conf })).rejects.toMatchObject({ message });
    await expect(renderTask(sales, "read", { conf })).rejects.toMatchObject({ message });
  });

  test("unknown keys are refused at every depth, unless the schema is loose", () => {
    const build = (params: z.ZodType<object, object>) => dag("d", { params }, none);
    const strict = build(
      z.object({
        w: z.object({ days: z.number() }).optional(),
        list: z.array(z.object({ a: z.string() })).optional(),
      }),
    );
    expect(() => strict.readParams({ w: { days: 1, dyas: 2 } })).toThrow(
      'w.dyas: does not exist; did you mean "days"?',
    );
    expect(() => strict.readParams({ list: [{ a: "x" }, { b: 1 }] })).toThrow("list[1].b: does not exist");
    const loose = build(z.looseObject({ a: z.string(), w: z.looseObject({}) }));
    expect(loose.readParams({ a: "x", b: 1, w: { c: 1 } })).toEqual({ a: "x", b: 1, w: { c: 1 } });
    const mixed = build(z.object({ labels: z.record(z.string(), z.number()) }));
    expect(mixed.readParams({ labels: { any: 1 } })).toEqual({ labels: { any: 1 } });
    const both = build(
      z.object({ x: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })) }),
    );
    expect(both.readParams({ x: { a: "1", b: "2" } })).toEqual({ x: { a: "1", b: "2" } });
  });

  test("params may have the names of JSON Schema's words, and schemas with an id of their own", () => {
    const inner = z.object({ a: z.string() }).optional();
    const shape = {
      default: inner,
      properties: inner,
      enum: inner,
      type: inner,
      allOf: inner,
      format: inner,
    };
    const made = dag("d", { params: z.object(shape) }, none);
    expect(made.graph.params?.["x-order"]).toEqual(Object.keys(shape));
    for (const name of Object.keys(shape)) {
      expect(made.readParams({ [name]: { a: "x" } })).toEqual({ [name]: { a: "x" } });
      expect(() => made.readParams({ [name]: { b: "x" } })).toThrow(`${name}.b: does not exist`);
    }
    const shared = z.object({ a: z.string() }).meta({ id: "Shared", title: "Shared" });
    const twice = dag("d", { params: z.object({ x: shared, y: shared }).meta({ id: "All" }) }, none);
    expect(twice.readParams({ x: { a: "1" }, y: { a: "2" } })).toEqual({ x: { a: "1" }, y: { a: "2" } });
    expect(() => twice.readParams({ x: { a: "1" }, y: { a: "2", b: "3" } })).toThrow("y.b: does not exist");
  });

  test("a check or transform may be async, and the whole may be checked", async () => {
    const made = dag(
      "d",
      {
        params: z
          .object({ a: z.number().default(1), b: z.number().default(2) })
          .refine(async ({ a, b }) => a < b, "a must be below b"),
      },
      ({ task }) => void task("t", ({ params }) => params.b),
    );
    expect((await runDag(made)).tasks["t"]?.output).toBe(2);
    await expect(runDag(made, { conf: { a: 3 } })).rejects.toMatchObject({
      code: "bad_params",
      message: expect.stringContaining("a must be below b"),
    });
  });

  test("a DAG without params gives its bodies the conf", async () => {
    const made = dag("d", {}, () => void task("t", ({ params }) => params));
    expect((await runDag(made, { conf: { a: 1 } })).tasks["t"]?.output).toEqual({ a: 1 });
  });

  test("the same schema gives the same bytes", () => {
    const build = () =>
      dag(
        "d",
        { params: z.object({ b: z.string().default("x"), a: z.number().meta({ title: "A" }).optional() }) },
        none,
      );
    expect(canonicalJson(build().graph)).toBe(canonicalJson(build().graph));
  });
});

describe("A12: params that cannot be are an error at definition", () => {
  const cases: readonly [string, unknown, string | null, readonly string[]][] = [
    [
      "no schema",
      { region: "eu" },
      null,
      ["an object of type Object; expected", "z.object({ region: z.string() })"],
    ],
    ["a schema of something else", z.string(), null, ['a schema of "string"; expected a zod object']],
    ["zod/mini", mini.object({ a: mini.string() }), null, ["not zod/mini"]],
    [
      "a Date",
      z.object({ since: z.date() }),
      null,
      ['param "since": Date cannot be represented', "z.iso.date()"],
    ],
    [
      "a Date deep inside",
      z.object({ w: z.object({ days: z.array(z.date()) }) }),
      null,
      ['param "w.days[]":'],
    ],
    [
      "a property called items",
      z.object({ items: z.object({ properties: z.bigint() }) }),
      null,
      ['param "items.properties": BigInt'],
    ],
    ["a Map", z.object({ m: z.map(z.string(), z.string()).optional() }), null, ['param "m": Map']],
    ["a check without a schema", z.object({ c: z.custom(() => true) }), null, ['param "c": Custom types']],
    [
      "a default that changes",
      z.object({ c: z.string().default(() => String(Math.random())) }),
      null,
      ["a default differs each time"],
    ],
    [
      "a required param in a DAG with a schedule",
      z.object({ region: z.string(), limit: z.number().default(1), day: z.string() }),
      "@daily",
      ["region, day: required, without a default, in a DAG with a schedule", ".default(…) or .optional()"],
    ],
    [
      "defaults that do not fit",
      z.object({ a: z.number().default(1) }).refine(({ a }) => a > 1, "a must be above 1"),
      "@daily",
      ["its defaults do not fit: a must be above 1"],
    ],
  ];
  test.each(cases)("%s", (_, params, schedule, parts) => {
    const define = () => looseDag("sales", { params, schedule }, none);
    expect(define).toThrow(expect.objectContaining({ name: "DefinitionError" }));
    expect(define).toThrow(/^dag "sales": option "params"/);
    for (const part of parts) expect(define).toThrow(part);
  });

  test("by hand only, a param may be required; by schedule, with a default", () => {
    expect(() => dag("a", { params: z.object({ region: z.string() }) }, none)).not.toThrow();
    const params = z.object({ region: z.string().default("eu"), day: z.string().optional() });
    expect(() => dag("b", { schedule: "@daily", params }, none)).not.toThrow();
  });
});

describe("A2 A12: templates of a task", () => {
  test("are rendered for each try, from params as bodies see them", async () => {
    const made = dag(
      "sales",
      {
        schedule: "@daily",
        zone: "Europe/Berlin",
        params: z.object({
          region: z
            .string()
            .default("eu")
            .transform((r) => r.toUpperCase()),
        }),
      },
      ({ task }) => {
        task(
          "load",
          {
            retries: 1,
            retryDelay: 0,
            templates: {
              path: "s3://{{ dag_id }}/{{ ds }}/{{ params.region }}",
              query: {
                text: "{{ task_id }} try {{ try_number }}",
                limit: 5,
                days: ["{{ data_interval_end | ds }}"],
              },
            },
          },
          ({ templates, tryNumber }) => {
            if (tryNumber === 1) throw new Error("once more");
            return templates;
          },
        );
      },
    );
    const run = await runDag(made, { logicalAt: "2026-05-09" });
    expect(run.tasks["load"]?.output).toEqual({
      path: "s3://sales/2026-05-09/EU",
      query: { text: "load try 2", limit: 5, days: ["2026-05-10"] },
    });
    expect(made.graph.tasks[0]?.templates).toMatchObject({
      path: "s3://{{ dag_id }}/{{ ds }}/{{ params.region }}",
    });
  });

  test("what they name must exist", () => {
    const define = (template: unknown, params?: z.ZodType<object, object>) => () =>
      dag("sales", params === undefined ? {} : { params }, () => {
        task("load", { templates: { path: template } as never }, none);
      });
    expect(define("{{ dss }}")).toThrow(
      'dag "sales", task "load": option "templates": path: "{{ dss }}": the name "dss" does not exist; did you mean "ds"?',
    );
    expect(define("{{ params.any }}")).not.toThrow();
    const region = z.object({ region: z.string() });
    expect(define("{{ params.regoin }}", region)).toThrow(
      'the DAG has no param "regoin"; did you mean "region"?',
    );
    expect(define("{{ params.regoin }}", z.looseObject({ region: z.string() }))).not.toThrow();
    // Nobody knows what comes out of a transform over the whole.
    expect(
      define(
        "{{ params.made }}",
        region.transform((o) => ({ made: o.region })),
      ),
    ).not.toThrow();
    expect(() =>
      looseDag("d", {}, () => (task as (...a: unknown[]) => unknown)("t", { templates: "{{ ds }}" }, none)),
    ).toThrow('option "templates" is "{{ ds }}"; expected an object');
  });

  test("a try without what a template names fails for good", async () => {
    const made = dag("d", {}, () => {
      task("t", { retries: 3, templates: { path: "{{ conf.city }}" } }, ({ templates }) => templates.path);
    });
    expect((await runDag(made)).tasks["t"]).toMatchObject({
      state: "failed",
      tries: 1,
      error: {
        code: "template_unset",
        message: expect.stringContaining('template "path": conf.city is not set'),
      },
    });
    expect((await runDag(made, { conf: { city: "bonn" } })).tasks["t"]?.output).toBe("bonn");
  });

  test("a task with neither is called as it is: nothing is added to its path", () => {
    const body = () => 1;
    const made = dag("d", {}, () => void task("t", body));
    expect(made.bodyOf("t")).toBe(body);
  });
});
