/** The grid's rows: tasks, and the groups around them as rows that can stand for all that is in them. Pure. */
import type { Graph, GridTask } from "../../../api/contracts.ts";
import { sumCells, type CellView } from "./model.ts";
import type { GridColumn } from "./data.ts";

interface RowBase {
  /** Of the task or the group; the two share one space of names within a DAG. */
  readonly id: string;
  readonly label: string;
  /** How many groups are around it. */
  readonly depth: number;
}

export type GridRow =
  | (RowBase & { readonly kind: "task"; readonly removed: boolean })
  | (RowBase & {
      readonly kind: "group";
      readonly folded: boolean;
      /** All tasks in it, however deep. */
      readonly tasks: readonly string[];
    });

type Place = Pick<Graph, "groups"> & {
  readonly tasks: readonly { id: string; label: string; group: string | null }[];
};

interface Node {
  readonly id: string;
  readonly label: string;
  readonly children: (Node | GridTask)[];
}

/** A filter shows what matches, also within folded groups. */
export function layRows(
  tasks: readonly GridTask[],
  graph: Place | null,
  folded: ReadonlySet<string>,
  filter: string,
): GridRow[] {
  const options = new Map(graph?.tasks.map((task) => [task.id, task]));
  const labelOf = (id: string, label: string, around: string | null): string => {
    if (label !== "") return label;
    return around !== null && id.startsWith(`${around}.`) ? id.slice(around.length + 1) : id;
  };
  const nodes = new Map<string, Node>();
  const top: (Node | GridTask)[] = [];
  const groups = new Map(graph?.groups.map((group) => [group.id, group]));
  // A group stands where its first task does, so that rows keep the order of the definition.
  const nodeOf = (id: string): Node | null => {
    const known = nodes.get(id);
    const group = groups.get(id);
    if (known !== undefined || group === undefined) return known ?? null;
    const node: Node = { id, label: labelOf(id, group.label, group.parent), children: [] };
    nodes.set(id, node);
    const parent = group.parent === null ? null : nodeOf(group.parent);
    (parent?.children ?? top).push(node);
    return node;
  };
  for (const task of tasks) {
    const group = options.get(task.id)?.group ?? null;
    const parent = group === null ? null : nodeOf(group);
    (parent?.children ?? top).push(task);
  }
  const wanted = filter.trim().toLowerCase();
  const rows: GridRow[] = [];
  const put = (node: Node | GridTask, depth: number, around: string | null): void => {
    if (!("children" in node)) {
      const label = labelOf(node.id, options.get(node.id)?.label ?? "", around);
      const matches = node.id.toLowerCase().includes(wanted) || label.toLowerCase().includes(wanted);
      if (matches) rows.push({ kind: "task", id: node.id, label, depth, removed: node.removed });
      return;
    }
    const at = rows.length;
    const isFolded = wanted === "" && folded.has(node.id);
    const group = { kind: "group", id: node.id, label: node.label, depth, folded: isFolded } as const;
    rows.push({ ...group, tasks: idsIn(node) });
    if (isFolded) return;
    for (const child of node.children) put(child, depth + 1, node.id);
    if (wanted !== "" && rows.length === at + 1) rows.pop();
  };
  for (const node of top) put(node, 0, null);
  return rows;
}

function idsIn(node: Node): string[] {
  return node.children.flatMap((child) => ("children" in child ? idsIn(child) : [child.id]));
}

/** Sums of groups, for as long as column and row are the same objects. */
const sums = new WeakMap<GridColumn, WeakMap<GridRow, CellView | null>>();

export function cellOf(row: GridRow, column: GridColumn): CellView | null {
  if (row.kind === "task") return column.cells.get(row.id) ?? null;
  let known = sums.get(column);
  if (known === undefined) sums.set(column, (known = new WeakMap()));
  let sum = known.get(row);
  if (sum === undefined) {
    sum = sumCells(row.tasks.map((id) => column.cells.get(id) ?? null));
    known.set(row, sum);
  }
  return sum;
}
