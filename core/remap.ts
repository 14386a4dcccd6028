/**
 * A run that is over goes on with another version of its DAG: what it has is carried over by the ids of its tasks. A task
 * that is the same keeps its cells; one that is new, or is another now, begins; one that is no more is removed. Numbers of
 * tries go on in any case, also when a removed task comes back. Pure.
 */
import { NEW_CELL, NEW_TASK, type RunCell, type TaskProgress } from "./cells.ts";
import { namesOf } from "./mapping.ts";
import type { RunMap, RunPlan } from "./plan.ts";
import { ELSEWHERE, type RunProgress } from "./progress.ts";
import type { ShownCell } from "./shown-progress.ts";
import { TASK_DONE } from "./states.ts";

/** A cell that is to be written down: its task may have no position any more. */
export interface CellRecord {
  readonly seq: number;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  readonly state: "none" | "removed";
  readonly ended: null;
  /** The task is no more: its cell stays. */
  readonly gone?: true;
}

export interface Remapped {
  readonly progress: RunProgress;
  /** Tasks that are to begin, by their new positions: their rules have not been looked at. */
  readonly fresh: readonly number[];
  /** Cells that are no more, as they were. */
  readonly removed: readonly ShownCell[];
  readonly records: readonly CellRecord[];
}

export function remap(from: RunPlan, to: RunPlan, progress: RunProgress): Remapped {
  const records = new Records(progress.seq);
  const isKept = keptBy(from, to, progress);
  const fresh: number[] = [];
  const tasks = to.tasks.map(({ id }, position): TaskProgress => {
    const before = from.positions.get(id);
    if (before !== undefined && isKept(position)) return keptTask(from, to, progress.tasks[before]!);
    fresh.push(position);
    const known = before === undefined ? progress.removed?.[id] : progress.tasks[before];
    return known === undefined ? NEW_TASK : begunAnew(id, known, records);
  });
  const removed = Object.entries(progress.removed ?? {}).filter(([id]) => !to.positions.has(id));
  from.tasks.forEach(({ id }, position) => {
    if (!to.positions.has(id)) removed.push([id, removedTask(id, progress.tasks[position]!, records)]);
  });
  const measured = to.tasks.flatMap(({ id }, position) => {
    const known = progress.measured[from.positions.get(id) ?? ELSEWHERE];
    return known === undefined || !isKept(position) ? [] : [[position, known] as const];
  });
  const { removed: _, ...rest } = progress;
  return {
    progress: {
      ...rest,
      seq: records.seq,
      tasks,
      open: tasks.reduce((open, task) => open + openOf(task), 0),
      measured: Object.fromEntries(measured),
      ...(removed.length > 0 && { removed: Object.fromEntries(removed) }),
    },
    fresh,
    removed: records.removed,
    records: records.all,
  };
}

class Records {
  readonly all: CellRecord[] = [];
  readonly removed: ShownCell[] = [];
  seq: number;

  constructor(seq: number) {
    this.seq = seq;
  }

  add(taskId: string, mapIndex: number, cell: RunCell, state: CellRecord["state"], gone?: true): void {
    this.seq += 1;
    const at = { seq: this.seq, taskId, mapIndex, try: cell.try, state, ended: null };
    this.all.push(gone === undefined ? at : { ...at, gone });
    // Mapped out, a task as a whole had no cell.
    if (state === "removed" && cell.state !== "none")
      this.removed.push({ taskId, mapIndex, state: cell.state, try: cell.try });
  }
}

/** Whether a task, by its new position, is what it was before, so that its cells still say what they said. */
function keptBy(from: RunPlan, to: RunPlan, progress: RunProgress): (position: number) => boolean {
  const before = (position: number): number | undefined => from.positions.get(to.tasks[position]!.id);
  const tasks = new Map<number, boolean>();
  const maps = new Map<number, boolean>();

  const isKept = (position: number): boolean => {
    let known = tasks.get(position);
    if (known === undefined) tasks.set(position, (known = isSameTask(position)));
    return known;
  };
  const isKeptMap = (at: number): boolean => {
    let known = maps.get(at);
    if (known === undefined) maps.set(at, (known = isSameMap(to.maps[at]!)));
    return known;
  };
  const isSameTask = (position: number): boolean => {
    const old = before(position);
    if (old === undefined) return false;
    const [was, is] = [from.tasks[old]!, to.tasks[position]!];
    if (is.map !== undefined) return was.map !== undefined && was.decides === is.decides && isKeptMap(is.map);
    if (was.map !== undefined) return false;
    if (progress.tasks[old]!.own.state !== "success") return true;
    // How it chose, and how long its list is, was not asked.
    return was.decides === is.decides && (!to.feeds.has(position) || from.feeds.has(old));
  };
  /** An instance is one of the same lists, and those of its map had as many. */
  const isSameMap = (map: RunMap): boolean => {
    const olds = map.tasks.flatMap((position) => from.tasks[before(position) ?? ELSEWHERE]?.map ?? []);
    const [one, ...others] = new Set(olds);
    if (one === undefined || others.length > 0) return false;
    return describe(from, from.maps[one]!) === describe(to, map) && map.sources.every(isKept);
  };
  return isKept;
}

/** What an instance is one of, by ids. */
function describe({ tasks }: RunPlan, map: RunMap): string {
  const lists = namesOf(map).map((name) => {
    const source = map.over[name]!;
    return [name, typeof source === "number" ? tasks[source]!.id : source];
  });
  return JSON.stringify([map.group !== null, map.how, map.batch, lists]);
}

/** Its choices are by position. */
function keptTask(from: RunPlan, to: RunPlan, task: TaskProgress): TaskProgress {
  const moved = (cell: RunCell): RunCell => {
    if (cell.follow === undefined) return cell;
    const follow = cell.follow.map(
      (position) => to.positions.get(from.tasks[position]?.id ?? "") ?? ELSEWHERE,
    );
    return { ...cell, follow };
  };
  return { ...task, own: moved(task.own), instances: task.instances?.map(moved) ?? null };
}

function begunAnew(id: string, { own, instances, count }: TaskProgress, records: Records): TaskProgress {
  const isTold = count === null && own.state !== "none";
  if (isTold) records.add(id, -1, own, "none");
  return {
    own: { ...NEW_CELL, try: own.try, ...(isTold && { told: true }) },
    instances: removedInstances(id, instances, records),
    count: null,
    tally: null,
  };
}

function removedTask(id: string, { own, instances }: TaskProgress, records: Records): TaskProgress {
  records.add(id, -1, own, "removed", true);
  return {
    own: { ...NEW_CELL, try: own.try, state: "removed" },
    instances: removedInstances(id, instances, records),
    count: null,
    tally: null,
  };
}

function removedInstances(
  id: string,
  instances: readonly RunCell[] | null,
  records: Records,
): readonly RunCell[] | null {
  if (instances === null) return null;
  return instances.map((cell, index) => {
    if (cell.state !== "removed") records.add(id, index, cell, "removed");
    return { ...NEW_CELL, try: cell.try, state: "removed" };
  });
}

function openOf({ own, instances, count }: TaskProgress): number {
  if (count === null || instances === null) return TASK_DONE[own.state] ? 0 : 1;
  return instances.slice(0, count).filter(({ state }) => !TASK_DONE[state]).length;
}
