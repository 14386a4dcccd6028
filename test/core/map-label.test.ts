import { describe, expect, test } from "vitest";
import { instanceName } from "../../core/instance-name.ts";
import { compileMapLabel, labelText } from "../../core/map-label.ts";
import type { TemplateValues } from "../../core/templates.ts";

const VALUES: TemplateValues = {
  dagId: "weather",
  taskId: "load",
  runId: "scheduled__2026-05-09",
  tryNumber: 1,
  mapIndex: 3,
  zone: "UTC",
  logicalAt: Date.UTC(2026, 4, 9),
  startAt: Date.UTC(2026, 4, 9),
  endAt: Date.UTC(2026, 4, 10),
  ds: "2026-05-09",
  params: {},
  conf: { tag: "x" },
};

const rendered = (text: string, items: Readonly<Record<string, unknown>>): string | null =>
  compileMapLabel(text, Object.keys(items)).render({ ...VALUES, items });

describe("A7: labels of instances", () => {
  test("A7: a template over the item, by its list's name, and the run's dates", () => {
    const city = { name: "Berlin", geo: { lat: 52.5 }, tags: ["a", "b"] };
    expect(rendered("{{ city.name }}", { city })).toBe("Berlin");
    expect(rendered("{{ city.name }} {{ ds_nodash }} {{ conf.tag }} {{ map_index }}", { city })).toBe(
      "Berlin 20260509 x 3",
    );
    expect(rendered("{{ city.geo.lat }}/{{ city.tags[1] }}", { city })).toBe("52.5/b");
    expect(rendered("{{ file }}", { file: "a.csv" })).toBe("a.csv");
    expect(rendered("{{ files[0] }} +{{ files.length }}", { files: ["a", "b", "c"] })).toBe("a +3");
    expect(rendered("{{ city }}", { city: { a: 1 } })).toBe('{"a":1}');
  });

  test("A7: a list's name goes before a name of the run", () => {
    expect(rendered("{{ ds }}", { ds: "mine" })).toBe("mine");
  });

  test("A7: which lists it shows is known when it is written", () => {
    expect(compileMapLabel("{{ year }}", ["city", "year"]).reads).toEqual(["year"]);
    expect(compileMapLabel("{{ map_index }}", ["city"]).reads).toEqual([]);
  });

  test.each([
    ["{{ ctiy.name }}", 'the name "ctiy.name" does not exist; expected one of city, ds,'],
    ["{{ try_number }}", "try_number is not known here: a label is the same for all tasks and tries"],
    ["{{ params.region }}", "params is not known here: a label is the same"],
    ["{{ city.born | ds }}", 'city.born is no instant, which the filter "ds" needs'],
    ["{{ city name }}", "is no name; expected one of city, ds,"],
    ["{{ city.name ", "has no closing }}"],
  ])("A7: %s is refused when it is written", (text, message) => {
    expect(() => compileMapLabel(text, ["city"])).toThrow(message);
  });

  test("A7: an item without what is shown is told by name, and without advice about triggers", () => {
    expect(() => rendered("{{ city.name }}", { city: { nmae: "x" } })).toThrow(
      /^template "mapLabel": the item of this instance has no city\.name$/,
    );
  });

  test("A7: a label is one line of at most 100 characters, or none", () => {
    expect(labelText("  a\n\tb\u0000c\u2028d ")).toBe("a b c d");
    expect(labelText(" \n ")).toBeNull();
    expect(labelText("\ud800x")).toBe("\ufffdx");
    expect(labelText("😀".repeat(500))).toBe(`${"😀".repeat(99)}…`);
    expect(labelText("😀".repeat(100))).toBe("😀".repeat(100));
    expect(labelText("z".repeat(5_000_000))).toBe(`${"z".repeat(99)}…`);
  });

  test("A7: an instance is named by label and index, so that equal labels are told apart", () => {
    expect(instanceName({ taskId: "load", mapIndex: 3, mapLabel: "berlin" })).toBe("load[berlin] #3");
    expect(instanceName({ taskId: "load", mapIndex: 3 })).toBe("load[3]");
    expect(instanceName({ taskId: "load", mapIndex: -1 })).toBe("load");
  });
});
