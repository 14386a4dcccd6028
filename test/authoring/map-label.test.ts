import { describe, expect, test } from "vitest";
import { dag, sensor, task, taskGroup, waitFor, waitUntil } from "../../authoring/index.ts";
import type { Dag } from "../../authoring/index.ts";
import { runDag } from "../../authoring/testing.ts";
import { runGraphOf } from "../../core/plan.ts";

const CITIES = [{ name: "Berlin" }, { name: "Paris" }, { name: "Berlin" }];
const inDag = (build: () => void): Dag => dag("weather", {}, build);
const quick = { sleep: async () => undefined };

async function labelsIn(made: Dag, options = {}): Promise<Record<string, string | null>> {
  const run = await runDag(made, { ...quick, ...options });
  return Object.fromEntries(Object.entries(run.tasks).map(([name, { label }]) => [name, label]));
}

describe("A7: mapLabel", () => {
  test("A7: it stands in the graph of the version, and no run carries it", () => {
    const made = inDag(() => {
      task("load", { expand: { city: CITIES }, mapLabel: "{{ city.name }}" }, () => null);
    });
    expect(made.graph.maps![0]!.label).toBe("{{ city.name }}");
    expect(JSON.stringify(runGraphOf(made.graph))).not.toContain("city.name");
  });

  test("A7: a graph without labels has the hash it had", () => {
    const made = inDag(() => void task("load", { expand: { n: [1] }, mapLabel: "" }, () => null));
    expect(made.graph.maps).toEqual([
      { group: null, over: { n: [1] }, how: "product", batch: null, max: 1024 },
    ]);
  });

  test("A7: a name that no label knows is refused with its place", () => {
    expect(() =>
      inDag(() => void task("load", { expand: { city: CITIES }, mapLabel: "{{ ctiy.name }}" }, () => null)),
    ).toThrow(
      'dag "weather", task "load": option "mapLabel": "{{ ctiy.name }}": the name "ctiy.name" does not exist',
    );
    expect(() =>
      inDag(() => void taskGroup("each", { expand: { city: CITIES }, mapLabel: "{{ town }}" }, () => null)),
    ).toThrow('group "each": option "mapLabel"');
  });

  test("A7: without lists there are no instances to be labelled", () => {
    expect(() => inDag(() => void task("load", { mapLabel: "x" }, () => null))).toThrow(
      'option "mapLabel" needs lists to map over',
    );
    expect(() =>
      inDag(() => void waitUntil("noon", { time: "12:00", mapLabel: "x" } as unknown as { time: string })),
    ).toThrow("in a mapped group it is mapped too");
    expect(() =>
      inDag(() => void task("load", { expand: { n: [1] }, map_index_template: "x" } as object, () => null)),
    ).toThrow('did you mean "mapLabel"?');
  });

  test("A7: a local run has them by the name of each instance, which stays its index", async () => {
    const made = inDag(() => {
      const cities = task("cities", () => CITIES);
      task("load", { expand: { city: cities }, mapLabel: "{{ city.name }} {{ ds }}" }, () => null);
      task("some", { expand: { city: cities }, batch: 2, mapLabel: "from {{ city[0].name }}" }, () => null);
      task("cross", { expand: { city: cities, year: [1, 2] }, mapLabel: "{{ year }}" }, () => null);
    });
    const heard: string[] = [];
    const labels = await labelsIn(made, {
      logicalAt: "2026-05-09",
      onLabel: (name: string, label: string) => heard.push(`${name} ${label}`),
    });
    expect(labels).toEqual({
      cities: null,
      "load[0]": "Berlin 2026-05-09",
      "load[1]": "Paris 2026-05-09",
      "load[2]": "Berlin 2026-05-09",
      "some[0]": "from Berlin",
      "some[1]": "from Berlin",
      "cross[0]": "1",
      "cross[1]": "2",
      "cross[2]": "1",
      "cross[3]": "2",
      "cross[4]": "1",
      "cross[5]": "2",
    });
    expect(heard).toContain("load[1] Paris 2026-05-09");
  });

  test("A7: in a mapped group every task of an instance has it, those that do not get its item too", async () => {
    const made = inDag(() => {
      const cities = task("cities", () => CITIES);
      taskGroup("each", { expand: { city: cities }, mapLabel: "{{ city.name }}" }, ({ city }) => {
        const fetched = task("fetch", { inputs: { town: city } }, () => 1);
        const approved = waitFor("approved", { after: [fetched] });
        const seen = sensor("seen", { after: [approved] }, () => true);
        task("store", { inputs: { fetched }, after: [seen] }, () => null);
      });
      waitFor("ask", { expand: { city: CITIES }, mapLabel: "{{ city.name }}" });
    });
    const labels = await labelsIn(made, { events: { "each.approved": null, ask: null } });
    for (const id of ["each.fetch", "each.approved", "each.seen", "each.store", "ask"])
      expect([0, 1, 2].map((index) => labels[`${id}[${index}]`])).toEqual(["Berlin", "Paris", "Berlin"]);
  });

  test("A7: one that cannot be rendered is left out: the try goes on, and its log says why", async () => {
    const made = inDag(() => {
      const cities = task("cities", () => [{ name: "Berlin" }, {}, null]);
      task(
        "load",
        { expand: { city: cities }, mapLabel: "{{ city.name }}" },
        ({ inputs }) => inputs.city !== undefined,
      );
    });
    const run = await runDag(made, quick);
    expect(run.state).toBe("success");
    expect([0, 1, 2].map((index) => run.tasks[`load[${index}]`]!.label)).toEqual(["Berlin", null, null]);
    expect(run.tasks["load[1]"]!.log.map(({ level, text }) => [level, text])).toEqual([
      [
        "warn",
        'this instance goes without a label: template "mapLabel": the item of this instance has no city.name',
      ],
    ]);
  });
});
