/** What changed between two versions of a DAG's graph; where tasks stand in it is no change, their edges are. */
import { canonicalJson } from "./canonical.ts";
import type { SerialGraph, SerialTask } from "./graph.ts";
import { mappedOver } from "./mapped-over.ts";

/** `before` or `after` is undefined where the field was missing. */
export interface FieldChange {
  /** An option, or a path into one: `params.properties.city.default`. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

type Change = "added" | "removed" | "changed";

/** `fields` is empty for what came or went. */
interface PartChange {
  readonly change: Change;
  readonly fields: readonly FieldChange[];
}
export interface NamedChange extends PartChange {
  readonly id: string;
}
interface EdgeChange extends PartChange {
  readonly from: string;
  readonly to: string;
}

interface GraphDiff {
  /** Options of the DAG. */
  readonly dag: readonly FieldChange[];
  readonly groups: readonly NamedChange[];
  readonly tasks: readonly NamedChange[];
  readonly edges: readonly EdgeChange[];
}

type Fields = Readonly<Record<string, unknown>>;

/** From `before` to `after`. What both have comes in the order of `after`; what went, behind it. */
export function diffGraphs(before: SerialGraph, after: SerialGraph): GraphDiff {
  const edge = (key: string) => {
    const [from, to] = JSON.parse(key) as [string, string];
    return { from, to };
  };
  return {
    dag: diffFields(optionsOf(before), optionsOf(after)),
    groups: diffParts(groupsOf(before), groupsOf(after)).map(([id, change]) => ({ id, ...change })),
    tasks: diffParts(tasksOf(before), tasksOf(after)).map(([id, change]) => ({ id, ...change })),
    edges: diffParts(edgesOf(before), edgesOf(after)).map(([key, change]) => ({ ...edge(key), ...change })),
  };
}

/** All that a graph says of the DAG itself. */
function optionsOf({
  format: _f,
  dagId: _d,
  tasks: _t,
  groups: _g,
  maps: _m,
  ...options
}: SerialGraph): Fields {
  return options;
}

const groupsOf = (graph: SerialGraph): Map<string, Fields> =>
  new Map(
    graph.groups.map(({ id, ...group }) => [id, { ...group, parent: groupId(graph, group.parent) }] as const),
  );

function tasksOf(graph: SerialGraph): Map<string, Fields> {
  const options = (task: SerialTask): Fields => {
    const { id: _id, upstream: _u, inputs: _i, map: _m, teardown, ...plain } = task;
    const mapped = mappedOver(graph, task);
    return {
      ...plain,
      group: groupId(graph, task.group),
      ...(mapped !== null && { mapped }),
      ...(teardown !== undefined && { teardown: teardown.map((setup) => graph.tasks[setup]!.id) }),
    };
  };
  return new Map(graph.tasks.map((task) => [task.id, options(task)]));
}

/** By `[from, to]`, with the names of the inputs that it feeds. */
function edgesOf(graph: SerialGraph): Map<string, Fields> {
  const edges = graph.tasks.flatMap((task) =>
    task.upstream.map((from) => {
      const inputs = Object.keys(task.inputs).filter((name) => task.inputs[name] === from);
      return [JSON.stringify([graph.tasks[from]!.id, task.id]), { inputs: inputs.sort() }] as const;
    }),
  );
  return new Map(edges);
}

const groupId = (graph: SerialGraph, position: number | null): string | null =>
  position === null ? null : graph.groups[position]!.id;

function diffParts(
  before: ReadonlyMap<string, Fields>,
  after: ReadonlyMap<string, Fields>,
): [string, PartChange][] {
  const changes: [string, PartChange][] = [];
  for (const [key, fields] of after) {
    const old = before.get(key);
    if (old === undefined) changes.push([key, { change: "added", fields: [] }]);
    else {
      const changed = diffFields(old, fields);
      if (changed.length > 0) changes.push([key, { change: "changed", fields: changed }]);
    }
  }
  for (const key of before.keys()) {
    if (!after.has(key)) changes.push([key, { change: "removed", fields: [] }]);
  }
  return changes;
}

/** Objects are compared by their members, all else (lists too) as one. */
function diffFields(before: Fields, after: Fields, path = ""): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name): FieldChange[] => {
    const [old, now] = [before[name], after[name]];
    if (isSame(old, now)) return [];
    const field = path + name;
    return isObject(old) && isObject(now) && old["kind"] === now["kind"]
      ? diffFields(old, now, `${field}.`)
      : [{ field, before: old, after: now }];
  });
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
