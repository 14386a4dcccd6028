/** Order between groups, as edges between their tasks: from the last tasks of the one to the first of the other. */
import { DefinitionError } from "../core/errors.ts";
import type { Node } from "./ref.ts";

export interface GroupEdge {
  readonly from: Node;
  readonly to: Node;
  /** For messages: where it was set. */
  readonly where: string;
}

interface DraftTask {
  readonly group: number | null;
  readonly upstream: Set<number>;
  /** Null: it is no teardown. */
  readonly teardown: readonly number[] | null;
}

interface DraftGroup {
  readonly id: string;
  readonly parent: number | null;
}

/** More edges than this cannot fit into what a run carries (`serialise.ts`), and might not fit into memory. */
const MOST_EDGES = 750_000;

/**
 * Adds the edges that `edges` stand for. Innermost first: which tasks a group begins and ends with depends on the
 * order inside it, and on nothing outside.
 */
export function addGroupEdges(
  tasks: readonly DraftTask[],
  groups: readonly DraftGroup[],
  edges: readonly GroupEdge[],
): void {
  const around = (node: Node): number[] => pathOf(groups, parentOf(tasks, groups, node));
  const depth = ({ from, to }: GroupEdge): number => {
    const [a, b] = [around(from), around(to)];
    const differ = a.findIndex((group, i) => group !== b[i]);
    return differ === -1 ? a.length : differ;
  };
  const ends = new Map<number, Ends>();
  const endsOf = (node: Node): Ends => {
    if (node.kind === "task") return { first: [node.position], last: [node.position] };
    const known = ends.get(node.position) ?? endsOfGroup(tasks, groups, node.position);
    ends.set(node.position, known);
    return known;
  };
  const ordered = edges.map((edge) => ({ edge, depth: depth(edge) })).sort((a, b) => b.depth - a.depth);
  let added = 0;
  for (const { edge } of ordered) {
    const { last } = endsOf(edge.from);
    const { first } = endsOf(edge.to);
    added += last.length * first.length;
    if (added > MOST_EDGES) {
      throw new DefinitionError(
        "graph_too_large",
        `${edge.where}: every one of ${first.length} tasks would wait for every one of ${last.length}; put one task between them`,
      );
    }
    for (const later of first) for (const earlier of last) tasks[later]!.upstream.add(earlier);
  }
}

/** True when the group holds the node, directly or deeper. */
export function holds(
  tasks: readonly DraftTask[],
  groups: readonly DraftGroup[],
  group: number,
  node: Node,
): boolean {
  return pathOf(groups, parentOf(tasks, groups, node)).includes(group);
}

interface Ends {
  readonly first: readonly number[];
  readonly last: readonly number[];
}

/** Positions of the tasks that a group begins with. */
export function beginsWith(
  tasks: readonly DraftTask[],
  groups: readonly DraftGroup[],
  group: number,
): readonly number[] {
  return endsOfGroup(tasks, groups, group).first;
}

/** What follows a group does not wait for its teardowns, as in Airflow, unless there is nothing else in it. */
function endsOfGroup(tasks: readonly DraftTask[], groups: readonly DraftGroup[], group: number): Ends {
  const inside = new Set<number>();
  for (const [position, task] of tasks.entries()) {
    if (pathOf(groups, task.group).includes(group)) inside.add(position);
  }
  const works = [...inside].filter((position) => tasks[position]!.teardown === null);
  const counted = works.length === 0 ? [...inside] : works;
  const waitedFor = new Set<number>();
  const first: number[] = [];
  for (const position of inside) {
    const upstream = [...tasks[position]!.upstream].filter((up) => inside.has(up));
    if (upstream.length === 0) first.push(position);
  }
  for (const position of counted) for (const up of tasks[position]!.upstream) waitedFor.add(up);
  return { first, last: counted.filter((position) => !waitedFor.has(position)) };
}

function parentOf(tasks: readonly DraftTask[], groups: readonly DraftGroup[], node: Node): number | null {
  return node.kind === "task" ? tasks[node.position]!.group : groups[node.position]!.parent;
}

/** A group with those around it, outermost first. */
function pathOf(groups: readonly DraftGroup[], innermost: number | null): number[] {
  const path: number[] = [];
  for (let at = innermost; at !== null; at = groups[at]!.parent) path.push(at);
  return path.reverse();
}
