import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileTemplate, type TemplateValues } from "../../core/templates.ts";

const START = Date.UTC(2026, 4, 8, 22);
const values: TemplateValues = {
  dagId: "sales",
  taskId: "load.rows",
  runId: "2026-05-08T22-00-00Z",
  tryNumber: 2,
  mapIndex: 4,
  zone: "Europe/Berlin",
  logicalAt: START,
  startAt: START,
  endAt: START + 86_400_000,
  ds: "2026-05-09",
  params: {
    region: "eu",
    days: [1, 2],
    window: { from: "mon", "odd key": "x" },
    on: true,
    none: null,
    since: new Date("2026-01-02T03:04:05.678Z"),
    big: 12n,
    deep: { n: 7n },
  },
  conf: { region: "raw", n: 1.5 },
};
const render = (template: unknown, params: readonly string[] | null = null) =>
  compileTemplate(template, { params: () => params }, "path")(values);

describe("A2: templates have Airflow's names", () => {
  const cases: readonly [string, string][] = [
    ["", ""],
    ["plain { } }} text %}", "plain { } }} text %}"],
    ['{"json": {"a": 1}}', '{"json": {"a": 1}}'],
    // P4: the calendar date of the interval's start in the DAG's zone, though it is the 8th in UTC.
    ["{{ ds }}", "2026-05-09"],
    ["{{ds}}{{  ds  }}", "2026-05-092026-05-09"],
    ["{{ ds_nodash }}", "20260509"],
    ["{{ ts }}", "2026-05-08T22:00:00+00:00"],
    ["{{ ts_nodash }}", "20260508T220000"],
    ["{{ ts_nodash_with_tz }}", "20260508T220000+0000"],
    ["{{ logical_date }}", "2026-05-08 22:00:00+00:00"],
    ["{{ data_interval_start }}", "2026-05-08 22:00:00+00:00"],
    ["{{ data_interval_end }}", "2026-05-09 22:00:00+00:00"],
    ["{{ data_interval_end | ds }}", "2026-05-10"],
    ["{{ data_interval_end|ds_nodash }}", "20260510"],
    ["{{ data_interval_end | ts }}", "2026-05-09T22:00:00+00:00"],
    ["{{ logical_date | ts_nodash }}", "20260508T220000"],
    ["{{ logical_date | ts_nodash_with_tz }}", "20260508T220000+0000"],
    ["{{ dag_id }} {{ dag.dag_id }}", "sales sales"],
    ["{{ task_id }} {{ task.task_id }}", "load.rows load.rows"],
    ["{{ run_id }} {{ dag_run.run_id }}", "2026-05-08T22-00-00Z 2026-05-08T22-00-00Z"],
    ["{{ try_number }} {{ ti.try_number }}", "2 2"],
    ["{{ map_index }} {{ ti.map_index }}", "4 4"],
    ["{{ params.region }}/{{ conf.region }}/{{ dag_run.conf.region }}", "eu/raw/raw"],
    ["{{ params.days.1 }}{{ params.days[0] }}", "21"],
    ["{{ params.days }}", "[1,2]"],
    ["{{ params.deep }}", '{"n":"7"}'],
    ["{{ params['window'].from }}", "mon"],
    ['{{ params.window["odd key"] }}', "x"],
    ["{{ params.on }} {{ params.none }} {{ params.big }} {{ conf.n }}", "true null 12 1.5"],
    ["{{ params.since }}", "2026-01-02 03:04:05.678000+00:00"],
    ["{{ params.since | ds }}", "2026-01-02"],
    ["{{ conf }}", '{"region":"raw","n":1.5}'],
    ['{{ "{{" }} {{ \'}}\' }} {{ "{%" }}', "{{ }} {%"],
  ];
  test.each(cases)("%s", (template, expected) => {
    expect(render(template)).toBe(expected);
  });

  test("objects and lists keep their shape, other values stay", () => {
    expect(render({ a: ["{{ ds }}", { b: "x{{ params.region }}" }], n: 1, on: false, none: null })).toEqual({
      a: ["2026-05-09", { b: "xeu" }],
      n: 1,
      on: false,
      none: null,
    });
  });

  test("a rendered value is not rendered again", () => {
    const nested = { ...values, conf: { text: "{{ ds }}" } };
    expect(compileTemplate("{{ conf.text }}", { params: () => null }, "x")(nested)).toBe("{{ ds }}");
  });
});

describe("A2: templates, over random texts", () => {
  test("a text without braces is itself; any other gives a text or an error of ours", () => {
    const pieces = fc.constantFrom(
      "{{",
      "}}",
      "{%",
      "{",
      "}",
      "|",
      "'",
      '"',
      " ",
      "ds",
      "params",
      ".region",
      "[0]",
      "ts",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 }))), (parts) => {
        const text = parts.join("");
        try {
          const rendered = render(text);
          expect(typeof rendered).toBe("string");
          if (!text.includes("{{")) expect(rendered).toBe(text);
        } catch (error) {
          expect(["bad_template", "template_unset"]).toContain((error as { code?: unknown }).code);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("A2: a wrong template is an error at definition", () => {
  const cases: readonly [unknown, readonly string[]][] = [
    ["{{ dss }}", ['path: "{{ dss }}"', 'the name "dss" does not exist', 'did you mean "ds"?']],
    ["{{ data_interval_strat }}", ['did you mean "data_interval_start"?']],
    ["{{ yesterday }}", ["expected one of ds, ds_nodash, ts,"]],
    ["{{ execution_date }}", ['the name "execution_date" does not exist; did you mean "logical_date"?']],
    ["{{ execution_date.year }}", ['did you mean "logical_date"?']],
    ["{{ next_ds }}", ['did you mean "data_interval_end | ds"?']],
    ["{{ yesterday_ds }}", ["does not exist; templates do not calculate; a body can"]],
    ["{{ var.value.shop }}", ["there are no variables"]],
    ["{{ conn.shop }}", ['a connection is read in the body: connection("name")']],
    ["{{ toString }}", ['the name "toString" does not exist']],
    ["{{ __proto__ }}", ['the name "__proto__" does not exist']],
    ["{{ ds.day }}", ['the name "ds.day" does not exist', "expected one of"]],
    ["{{ logical_date.year }}", ['did you mean "logical_date"?']],
    ["{{ dag }}", ["does not exist"]],
    ["{{ ds", ['"{{ ds" has no closing }}']],
    ['{{ "}} ', ["has no closing }}"]],
    ["{{ }}", ["is no name"]],
    ["{{ ds + 1 }}", ["is no name"]],
    ["{{ macros.ds_add(ds, 1) }}", ["is no name"]],
    ["{{ ds | ds | ts }}", ["is no name"]],
    ["{{ logical_date | dss }}", ['the filter "dss" does not exist; did you mean "ds"?']],
    ["{{ logical_date | upper }}", ["expected one of ds, ds_nodash, ts, ts_nodash, ts_nodash_with_tz"]],
    ["{{ ds | ts }}", ["ds is a text, and filters take instants", "data_interval_end"]],
    ["{% if ds %}x{% endif %}", ["is a block, and templates have none"]],
    [{ a: [{ b: "{{ x }}" }] }, ['path.a[0].b: "{{ x }}"']],
    [{ a: undefined }, ["path.a: a undefined that JSON cannot hold"]],
    [[Number.NaN], ["path[0]: a number that JSON cannot hold"]],
    [new Date(0), ["path: an object of another kind that JSON cannot hold"]],
    [() => 1, ["a function"]],
  ];
  test.each(cases)("%j", (template, parts) => {
    expect(() => render(template)).toThrow(
      expect.objectContaining({ code: "bad_template", name: "DefinitionError" }),
    );
    for (const part of parts) expect(() => render(template)).toThrow(part);
  });

  test("params of a DAG with a schema are known by name", () => {
    expect(render("{{ params.region }}", ["region"])).toBe("eu");
    expect(() => render("{{ params.regoin }}", ["region"])).toThrow(
      'has no param "regoin"; did you mean "region"?',
    );
    expect(() => render("{{ params.x }}", ["region", "days"])).toThrow("expected one of region, days");
    expect(() => render("{{ params.x }}", [])).toThrow('has no param "x"; it has none');
    expect(render("{{ conf.region }}", [])).toBe("raw");
  });
});

describe("A2: what a run did not set fails its try, and no retry mends that", () => {
  const cases: readonly [string, string][] = [
    ["{{ conf.city }}", 'template "path": conf.city is not set in this run'],
    ["{{ conf.region.deep }}", "conf.region.deep is not set"],
    ["{{ conf.toString }}", "conf.toString is not set"],
    ["{{ params.none.x }}", "params.none.x is not set"],
    ["{{ conf.n | ds }}", "conf.n is no instant, which the filter ds needs"],
  ];
  test.each(cases)("%s", (template, message) => {
    expect(() => render(template)).toThrow(
      expect.objectContaining({ code: "template_unset", name: "Terminal" }),
    );
    expect(() => render(template)).toThrow(message);
  });
});
