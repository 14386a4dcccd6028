import type { Graph, GraphTask } from "../api/contracts.ts";
import { coloured, textOf } from "./table.ts";

/** Tasks in an order in which they may run, each within its group, with what it waits for. */
export function graphLines(graph: Graph): string[] {
  const upstream = new Map(
    graph.tasks.map((task) => [task.id, graph.edges.filter(({ to }) => to === task.id)]),
  );
  const parentOf = new Map(graph.groups.map((group) => [group.id, group.parent]));
  const labelOf = new Map(graph.groups.map((group) => [group.id, group.label]));
  const place = (group: string | null): string[] =>
    group === null ? [] : [...place(parentOf.get(group) ?? null), group];
  const lines: string[] = [];
  let open: readonly string[] = [];
  for (const task of ordered(graph)) {
    const groups = place(task.group);
    let same = 0;
    while (same < groups.length && open[same] === groups[same]) same += 1;
    for (const group of groups.slice(same)) {
      const label = labelOf.get(group) ?? "";
      const name = `${textOf(group)}${label === "" ? "" : `: ${textOf(label)}`}`;
      lines.push(`${"  ".repeat(groups.indexOf(group))}${coloured(`[${name}]`, "bold")}`);
    }
    open = groups;
    const from = upstream
      .get(task.id)!
      .map((edge) => (edge.inputs.length === 0 ? edge.from : `${edge.from} (${edge.inputs.join(", ")})`));
    const facts = [
      ...(task.label === "" ? [] : [`"${textOf(task.label)}"`]),
      ...(from.length === 0 ? [] : [`← ${from.join(", ")}`]),
      ...(task.triggerRule === "all_success" ? [] : [`when ${task.triggerRule}`]),
    ];
    lines.push([`${"  ".repeat(groups.length)}${task.id}`, ...facts].join("  "));
  }
  return lines;
}

/**
 * Upstreams first. Among tasks that may come next, one of the group last written is taken before others, so that a
 * group is written once where its tasks do not wait for others between them.
 */
function ordered({ tasks, edges }: Graph): GraphTask[] {
  const waits = new Map(tasks.map((task) => [task.id, 0]));
  const below = new Map<string, string[]>();
  for (const { from, to } of edges) {
    waits.set(to, (waits.get(to) ?? 0) + 1);
    below.set(from, [...(below.get(from) ?? []), to]);
  }
  const left = new Set(tasks);
  const order: GraphTask[] = [];
  while (left.size > 0) {
    const ready = [...left].filter((task) => waits.get(task.id) === 0);
    const group = order.at(-1)?.group;
    const next = ready.find((task) => task.group === group) ?? ready[0]!;
    left.delete(next);
    order.push(next);
    for (const id of below.get(next.id) ?? []) waits.set(id, waits.get(id)! - 1);
  }
  return order;
}
