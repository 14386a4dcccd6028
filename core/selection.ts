/** Which cells of a run a command means. Pure: the same for the preview and for what is then done. */
import { companionsOf, reachable, type RunPlan } from "./plan.ts";
import { cellAt, type At, type RunProgress } from "./progress.ts";
import type { TaskState } from "./states.ts";

export interface Selection {
  /** Tasks by id; an index of a mapped one, or left out: all of it. Empty: the whole run. */
  readonly tasks: readonly { readonly taskId: string; readonly mapIndex?: number }[];
  /** What they wait for, too, at any distance. */
  readonly upstream?: boolean;
  /** What waits for them, too, at any distance. */
  readonly downstream?: boolean;
  /** Of all that, only what failed or could not run. */
  readonly onlyFailed?: boolean;
}

const FAILED: ReadonlySet<TaskState> = new Set(["failed", "upstream_failed", "cancelled"]);

export type Selected =
  | { readonly kind: "cells"; readonly cells: readonly At[] }
  | { readonly kind: "unknown"; readonly taskId: string; readonly mapIndex: number | null };

/** Cells in the order of the graph. A setup and its teardowns go with the work between them, as what was prepared is gone. */
export function select(plan: RunPlan, progress: RunProgress, selection: Selection): Selected {
  const named = new Map<number, Set<number> | null>();
  for (const { taskId, mapIndex } of selection.tasks) {
    const task = plan.positions.get(taskId);
    if (task === undefined || !hasIndex(progress, task, mapIndex))
      return { kind: "unknown", taskId, mapIndex: mapIndex ?? null };
    if (mapIndex === undefined || mapIndex < 0) named.set(task, null);
    else if (named.get(task) !== null) named.set(task, (named.get(task) ?? new Set()).add(mapIndex));
  }
  if (selection.tasks.length === 0) plan.tasks.forEach((_, task) => named.set(task, null));
  const all = new Map(named);
  const add = (tasks: Iterable<number>, indexes: Set<number> | null, map: number | undefined): void => {
    for (const task of tasks) {
      // Within one map an instance leads to the instances of its own index.
      const own = indexes !== null && map !== undefined && plan.tasks[task]!.map === map ? indexes : null;
      const known = all.get(task);
      if (known === null) continue;
      all.set(task, own === null ? null : new Set([...(known ?? []), ...own]));
    }
  };
  const upstream = plan.tasks.map((task) => task.upstream);
  for (const [task, indexes] of named) {
    const { map } = plan.tasks[task]!;
    if (selection.downstream === true) add(plan.after([task]), indexes, map);
    if (selection.upstream === true) add(reachable(upstream, [task]), indexes, map);
  }
  const chosen = new Map(all);
  if (selection.onlyFailed === true) {
    for (const [task, indexes] of all) {
      const failed = cellsOf(progress, task, indexes).filter((at) => FAILED.has(stateOf(progress, at)));
      if (failed.length === 0) chosen.delete(task);
      else chosen.set(task, new Set(failed.map(({ index }) => index)));
    }
    all.clear();
    for (const [task, indexes] of chosen) all.set(task, indexes);
  }
  for (const [task, indexes] of chosen) {
    const { map } = plan.tasks[task]!;
    add(companionsOf(plan, task), indexes, map);
  }
  const cells = [...all]
    .sort(([a], [b]) => a - b)
    .flatMap(([task, indexes]) => cellsOf(progress, task, indexes));
  return { kind: "cells", cells };
}

function hasIndex(progress: RunProgress, task: number, index: number | undefined): boolean {
  if (index === undefined || index < 0) return true;
  const { count } = progress.tasks[task]!;
  return count !== null && index < count;
}

function cellsOf(progress: RunProgress, task: number, indexes: ReadonlySet<number> | null): At[] {
  const { count } = progress.tasks[task]!;
  if (indexes !== null && count !== null) {
    return [...indexes]
      .filter((index) => index >= 0)
      .sort((a, b) => a - b)
      .map((index) => ({ task, index }));
  }
  if (count === null) return [{ task, index: -1 }];
  return Array.from({ length: count }, (_, index) => ({ task, index }));
}

export const stateOf = (progress: RunProgress, at: At): TaskState => cellAt(progress, at).state;
