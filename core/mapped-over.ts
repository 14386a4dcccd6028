/** What a task is mapped over, by ids. Pure. */
import type { SerialGraph, SerialTask } from "./graph.ts";
import type { SerialMap } from "./mapping.ts";

export interface MappedOver extends Pick<SerialMap, "how" | "batch" | "max" | "label"> {
  /** Lists by name: the task whose output each is, or how many items it has. */
  readonly over: Readonly<Record<string, { readonly task: string } | { readonly items: number }>>;
  /** Id of the group that is mapped as a whole, or null: the task alone is. */
  readonly group: string | null;
}

/** Null: it is not mapped. */
export function mappedOver(graph: SerialGraph, task: SerialTask): MappedOver | null {
  if (task.map === undefined) return null;
  const { over, how, batch, max, label, group } = graph.maps![task.map]!;
  const lists = Object.entries(over).map(([name, source]) => [
    name,
    typeof source === "number" ? { task: graph.tasks[source]!.id } : { items: source.length },
  ]);
  return {
    how,
    batch,
    max,
    ...(label !== undefined && { label }),
    over: Object.fromEntries(lists) as MappedOver["over"],
    group: group === null ? null : graph.groups[group]!.id,
  };
}
