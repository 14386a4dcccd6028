import { expect, test } from "vitest";
import type { SerialGraph } from "../../core/graph.ts";
import { diffGraphs } from "../../core/version-diff.ts";
import { serialGraph, serialTask } from "../support/serial.ts";

const graph = (more: Partial<SerialGraph>): SerialGraph => ({ ...serialGraph("x", []), ...more });
const nothing = { dag: [], groups: [], tasks: [], edges: [] };

test("B2: the same graph, and tasks in another order, are no change", () => {
  const a = graph({
    tasks: [serialTask("a"), serialTask("b"), serialTask("c", [0, 1], { inputs: { x: 1 } })],
  });
  const b = graph({
    tasks: [serialTask("b"), serialTask("a"), serialTask("c", [0, 1], { inputs: { x: 0 } })],
  });
  expect(diffGraphs(a, a)).toEqual(nothing);
  expect(diffGraphs(a, b)).toEqual(nothing);
});

test("B2: groups are told by id, also where their positions moved", () => {
  const group = (id: string, parent: number | null, label = "") => ({ id, parent, label, doc: "" });
  const before = graph({
    groups: [group("load", null), group("load.eu", 0)],
    tasks: [serialTask("load.eu.a", [], { group: 1 }), serialTask("b", [], { group: 0 })],
  });
  const after = graph({
    groups: [group("first", null), group("load", null, "Load"), group("load.eu", 0)],
    tasks: [serialTask("load.eu.a", [], { group: 2 }), serialTask("b", [], { group: null })],
  });
  expect(diffGraphs(before, after)).toEqual({
    ...nothing,
    groups: [
      { id: "first", change: "added", fields: [] },
      { id: "load", change: "changed", fields: [{ field: "label", before: "", after: "Load" }] },
      { id: "load.eu", change: "changed", fields: [{ field: "parent", before: "load", after: "first" }] },
    ],
    tasks: [{ id: "b", change: "changed", fields: [{ field: "group", before: "load", after: null }] }],
  });
  expect(diffGraphs(after, before).groups.at(-1)).toEqual({ id: "first", change: "removed", fields: [] });
});

test("B2: an option that is an object is told by its members; another kind of timetable as a whole", () => {
  const params = (properties: Record<string, unknown>) => ({ type: "object", properties });
  const { dag } = diffGraphs(
    graph({
      params: params({ city: { type: "string", default: "berlin" }, day: {} }),
      timetable: { kind: "cron", cron: "0 6 * * *", zone: "UTC" },
    }),
    graph({ params: params({ city: { type: "string" }, week: {} }), timetable: { kind: "manual" } }),
  );
  expect(dag).toEqual([
    { field: "params.properties.city.default", before: "berlin", after: undefined },
    { field: "params.properties.day", before: {}, after: undefined },
    { field: "params.properties.week", before: undefined, after: {} },
    {
      field: "timetable",
      before: { kind: "cron", cron: "0 6 * * *", zone: "UTC" },
      after: { kind: "manual" },
    },
  ]);
});

test("B2: edges of a task that went or came are told too", () => {
  const before = graph({ tasks: [serialTask("a"), serialTask("b", [0])] });
  const after = graph({ tasks: [serialTask("a"), serialTask("c", [0])] });
  expect(diffGraphs(before, after)).toMatchObject({
    tasks: [
      { id: "c", change: "added" },
      { id: "b", change: "removed" },
    ],
    edges: [
      { from: "a", to: "c", change: "added" },
      { from: "a", to: "b", change: "removed" },
    ],
  });
});
