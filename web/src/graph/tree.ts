/** What of a graph is in sight when some of its groups are folded, and how it nests. Pure. */
import type { Graph, GraphTask } from "../../../api/contracts.ts";

export interface TaskItem {
  readonly kind: "task";
  readonly key: string;
  readonly id: string;
  readonly label: string;
  /** Key of the open group around it; null: none. */
  readonly parent: string | null;
  readonly task: GraphTask;
}

export interface GroupItem {
  readonly kind: "group";
  readonly key: string;
  readonly id: string;
  readonly label: string;
  readonly parent: string | null;
  readonly folded: boolean;
  /** Ids of all tasks within, at any depth. */
  readonly taskIds: readonly string[];
}

export type Item = TaskItem | GroupItem;

/** An edge between items in sight, by keys. */
export interface Link {
  readonly from: string;
  readonly to: string;
}

export interface Sight {
  /** A group stands before what is in it. */
  readonly items: readonly Item[];
  /** Each pair once; an edge into a folded group ends at it, one within a folded group is not there. */
  readonly links: readonly Link[];
}

/** A task and a group may have the same id; their keys differ. */
export const taskKey = (id: string): string => `task ${id}`;
export const groupKey = (id: string): string => `group ${id}`;

/** What people read: the label, else the id without that of the group around it, which is there to see. */
export function nameWithin(id: string, label: string, group: string | null): string {
  if (label !== "") return label;
  return group !== null && id.startsWith(`${group}.`) ? id.slice(group.length + 1) : id;
}

export function sightOf(
  graph: Pick<Graph, "groups" | "tasks" | "edges">,
  folded: ReadonlySet<string>,
): Sight {
  const parents = new Map(graph.groups.map((group) => [group.id, group.parent]));
  const within = tasksWithin(graph, parents);
  /** The outermost folded group at or around a group. */
  const cover = (group: string | null): string | null => {
    let found: string | null = null;
    for (let at = group; at !== null; at = parents.get(at) ?? null) if (folded.has(at)) found = at;
    return found;
  };
  const inSight = (task: GraphTask): string => {
    const over = cover(task.group);
    return over === null ? taskKey(task.id) : groupKey(over);
  };
  const nameOf = (group: string | null): string | null => (group === null ? null : groupKey(group));
  const groups: Item[] = graph.groups
    .filter((group) => cover(group.parent) === null)
    .map((group) => ({
      kind: "group",
      key: groupKey(group.id),
      id: group.id,
      label: nameWithin(group.id, group.label, group.parent),
      parent: nameOf(group.parent),
      folded: folded.has(group.id),
      taskIds: within.get(group.id) ?? [],
    }));
  const tasks: Item[] = graph.tasks
    .filter((task) => cover(task.group) === null)
    .map((task) => ({
      kind: "task",
      key: taskKey(task.id),
      id: task.id,
      label: nameWithin(task.id, task.label, task.group),
      parent: nameOf(task.group),
      task,
    }));
  const place = new Map(graph.tasks.map((task) => [task.id, inSight(task)]));
  return { items: [...groups, ...tasks], links: linksOf(graph.edges, place) };
}

function tasksWithin(
  graph: Pick<Graph, "tasks">,
  parents: ReadonlyMap<string, string | null>,
): Map<string, string[]> {
  const within = new Map<string, string[]>();
  for (const task of graph.tasks) {
    for (let at = task.group; at !== null; at = parents.get(at) ?? null) {
      const known = within.get(at);
      if (known === undefined) within.set(at, [task.id]);
      else known.push(task.id);
    }
  }
  return within;
}

function linksOf(edges: Graph["edges"], place: ReadonlyMap<string, string>): Link[] {
  const links = new Map<string, Link>();
  for (const edge of edges) {
    const from = place.get(edge.from);
    const to = place.get(edge.to);
    if (from !== undefined && to !== undefined && from !== to) links.set(`${from}\n${to}`, { from, to });
  }
  return [...links.values()];
}
