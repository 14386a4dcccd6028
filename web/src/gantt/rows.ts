/** A run as rows with bars over time: groups, tasks, and the instances of mapped tasks. Pure. */
import type { Cell, Graph, RunDetail, Try } from "../../../api/contracts.ts";
import type { Wait } from "../../../api/contracts-waits.ts";
import { groupBy } from "../../../core/group-by.ts";
import { instanceName } from "../../../core/instance-name.ts";
import type { TaskState, TryState } from "../../../core/states.ts";
import { nameWithin } from "../graph/tree.ts";
import { loudest } from "../grid/model.ts";
import { FOR, endInWords } from "../waits/words.ts";

export interface GroupRow {
  readonly kind: "group";
  readonly key: string;
  readonly id: string;
  readonly label: string;
  readonly depth: number;
  readonly folded: boolean;
  /** Cells of all its tasks. */
  readonly cells: readonly Cell[];
  readonly state: TaskState;
}

export interface TaskRow {
  readonly kind: "task";
  readonly key: string;
  readonly taskId: string;
  /** null: not mapped. */
  readonly mapIndex: number | null;
  readonly label: string;
  readonly depth: number;
  /** null: not asked for yet. */
  readonly cell: Cell | null;
  /** What its tries waited for without a slot. */
  readonly waits: readonly Wait[];
}

export type Row = GroupRow | TaskRow;

/** In definition order; a group stands where its first task is. Tasks that the graph does not know come last. */
export function rowsOf(
  graph: Pick<Graph, "groups" | "tasks">,
  cells: RunDetail["cells"],
  folded: readonly string[],
  find: string,
  waits: readonly Wait[] = [],
): Row[] {
  const groups = new Map(graph.groups.map((group) => [group.id, group]));
  const byTask = new Map<string, Cell[]>();
  for (const cell of cells) {
    const known = byTask.get(cell.taskId);
    if (known === undefined) byTask.set(cell.taskId, [cell]);
    else known.push(cell);
  }
  const waitsOf = groupBy(waits, (wait) => `${wait.mapIndex} ${wait.taskId}`);
  const chainOf = (group: string | null): string[] => {
    const chain: string[] = [];
    for (let at = group; at !== null; at = groups.get(at)?.parent ?? null) chain.unshift(at);
    return chain;
  };
  const tasks = graph.tasks
    .filter((task) => find === "" || `${task.id} ${task.label}`.toLowerCase().includes(find))
    .map((task) => ({ task, chain: chainOf(task.group) }));
  const children = treeOf(tasks);
  const rows: Row[] = [];
  const put = (node: TreeNode, depth: number): void => {
    if (node.kind === "task")
      rows.push(...taskRows(node.id, node.label, depth, byTask.get(node.id) ?? [], waitsOf));
    else {
      const inside = node.taskIds.flatMap((id) => byTask.get(id) ?? []);
      const asked = new Set(inside.map((cell) => cell.taskId)).size;
      const states = inside.map((cell) => cell.state);
      if (asked < node.taskIds.length) states.push("none");
      const group = groups.get(node.id);
      rows.push({
        kind: "group",
        key: `group ${node.id}`,
        id: node.id,
        label: nameWithin(node.id, group?.label ?? "", group?.parent ?? null),
        depth,
        folded: folded.includes(node.id),
        cells: inside,
        state: loudest(states) ?? "none",
      });
      if (!folded.includes(node.id)) for (const child of node.children) put(child, depth + 1);
    }
  };
  for (const node of children) put(node, 0);
  const known = new Set(graph.tasks.map((task) => task.id));
  for (const [taskId, own] of byTask)
    if (!known.has(taskId) && taskId.toLowerCase().includes(find))
      rows.push(...taskRows(taskId, taskId, 0, own, waitsOf));
  return rows;
}

type TreeNode =
  | { readonly kind: "task"; readonly id: string; readonly label: string }
  | {
      readonly kind: "group";
      readonly id: string;
      readonly taskIds: string[];
      readonly children: TreeNode[];
    };

function treeOf(
  tasks: readonly { readonly task: Graph["tasks"][number]; readonly chain: readonly string[] }[],
): TreeNode[] {
  const top: TreeNode[] = [];
  const open = new Map<string, TreeNode & { kind: "group" }>();
  for (const { task, chain } of tasks) {
    let level = top;
    for (const id of chain) {
      let group = open.get(id);
      if (group === undefined) {
        group = { kind: "group", id, taskIds: [], children: [] };
        open.set(id, group);
        level.push(group);
      }
      group.taskIds.push(task.id);
      level = group.children;
    }
    level.push({ kind: "task", id: task.id, label: nameWithin(task.id, task.label, task.group) });
  }
  return top;
}

function taskRows(
  taskId: string,
  label: string,
  depth: number,
  cells: readonly Cell[],
  waitsOf: ReadonlyMap<string, readonly Wait[]>,
): TaskRow[] {
  const one = (cell: Cell | null, mapIndex: number | null): TaskRow => ({
    kind: "task",
    key: `task ${taskId} ${mapIndex ?? ""}`,
    taskId,
    mapIndex,
    label: instanceName({ taskId: label, mapIndex: mapIndex ?? -1, mapLabel: cell?.mapLabel }),
    depth,
    cell,
    waits: waitsOf.get(`${cell?.mapIndex ?? -1} ${taskId}`) ?? [],
  });
  if (cells.length === 0) return [one(null, null)];
  return cells
    .toSorted((a, b) => a.mapIndex - b.mapIndex)
    .map((cell) => one(cell, cell.mapIndex < 0 ? null : cell.mapIndex));
}

/**
 * A stretch of a row: what a try waited for its slots, then what it ran, or has waited without them so far; within that,
 * what it was deferred.
 */
export interface Bar {
  readonly try: number;
  readonly part: "queued" | "ran" | "deferred";
  readonly from: number;
  /** null: until now. */
  readonly to: number | null;
  readonly state: TaskState | TryState;
  /** Why it waited, in words. */
  readonly why?: string;
}

const ms = (text: string | null): number | null => (text === null ? null : Date.parse(text));

/** States whose bar goes on until now. */
const OPEN: ReadonlySet<TaskState | TryState> = new Set(["queued", "running", "deferred"]);

/** Of the last try; what came before it is in `barsOfTries`. */
export function barsOfCell(cell: Cell): Bar[] {
  return barsOf(cell, cell.try);
}

export function barsOfTries(tries: readonly Try[], cell: Cell): Bar[] {
  const past = tries.filter((one) => one.try !== cell.try || cell.startedAt === null);
  const reasons = new Map(tries.map((one) => [one.try, one.waited.map(({ reason }) => reason).join("; ")]));
  return [...past.flatMap((one) => barsOf(one, one.try)), ...barsOfCell(cell)].map((bar) => {
    const why = bar.part === "queued" ? (reasons.get(bar.try) ?? "") : "";
    return why === "" ? bar : { ...bar, why };
  });
}

/** What the tries of a row were deferred for, upon what they ran. */
export function barsOfWaits(waits: readonly Wait[]): Bar[] {
  return waits.flatMap((wait) => {
    const from = ms(wait.since);
    if (from === null) return [];
    const end = endInWords(wait);
    const why = `for ${FOR[wait.kind]}${end === null ? "" : `, ${end}`}`;
    return [
      {
        try: wait.try,
        part: "deferred" as const,
        from,
        to: ms(wait.endedAt),
        state: "deferred" as const,
        why,
      },
    ];
  });
}

interface Times {
  readonly queuedAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly state: TaskState | TryState;
}

function barsOf(times: Times, number: number): Bar[] {
  const live = OPEN.has(times.state);
  const queued = ms(times.queuedAt);
  const started = ms(times.startedAt);
  const ended = ms(times.endedAt);
  const bars: Bar[] = [];
  const base = { try: number, state: times.state };
  // What was deferred asks for slots again after it has begun.
  const again = queued !== null && started !== null && started < queued;
  if (queued !== null && !again && (started !== null || ended !== null || live))
    bars.push({ ...base, part: "queued", from: queued, to: started ?? ended });
  if (started !== null && (ended !== null || live))
    bars.push({ ...base, part: "ran", from: started, to: ended });
  return bars;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** From the run's first request to its last end; to `now` while it is under way. */
export function spanOf(run: Pick<RunDetail, "queuedAt" | "endedAt" | "cells">, now: number): Span {
  let from = Date.parse(run.queuedAt);
  let to = run.endedAt === null ? now : Date.parse(run.endedAt);
  for (const cell of run.cells) {
    for (const at of [ms(cell.queuedAt), ms(cell.startedAt), ms(cell.endedAt)]) {
      if (at === null) continue;
      from = Math.min(from, at);
      to = Math.max(to, at);
    }
  }
  return { from, to: Math.max(to, from + 1) };
}

/** From the first start of several cells to their last end. */
export function spanOfCells(cells: readonly Cell[], now: number): Span | null {
  const starts = cells.map((cell) => ms(cell.startedAt)).filter((at) => at !== null);
  if (starts.length === 0) return null;
  const ends = cells
    .filter((cell) => cell.startedAt !== null)
    .map((cell) => ms(cell.endedAt) ?? (OPEN.has(cell.state) ? now : Date.parse(cell.startedAt!)));
  return { from: Math.min(...starts), to: Math.max(...ends) };
}
