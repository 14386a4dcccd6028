/** Mapped tasks of a run: their instances are made once the lists are there, and made anew when those are. */
import type { BodyError } from "./body.ts";
import { NEW_CELL } from "./cells.ts";
import type { Draft } from "./draft.ts";
import { countOf, type Measured } from "./mapping.ts";
import type { RunMap } from "./plan.ts";
import type { At } from "./progress.ts";

/** Its lists may become others. What runs still is waited for; all else of it has been reset. */
export function mapIn(draft: Draft, map: RunMap): void {
  for (const task of map.tasks) {
    const { count } = draft.cells.task(task);
    if (count === null) continue;
    let running = 0;
    for (const index of draft.cells.indexes(task))
      running += draft.cells.get(task, index).state === "running" ? 1 : 0;
    draft.cells.mapIn(task);
    draft.open += 1 + running - count;
  }
}

export function mapOutOf(draft: Draft, task: number): void {
  const { map } = draft.plan.tasks[task]!;
  if (map !== undefined) mapOut(draft, map);
}

/** Makes the instances of a map as soon as all its lists are there. */
export function mapOut(draft: Draft, at: number): void {
  const map = draft.plan.maps[at]!;
  const waits = map.tasks.filter(
    (task) => draft.cells.task(task).count === null && draft.cells.task(task).own.state === "none",
  );
  if (waits.length === 0 || draft.ending !== null) return;
  if (!map.sources.every((source) => draft.cells.isDone(source))) return;
  if (
    map.tasks.some(
      (task) => draft.cells.task(task).instances?.some((cell) => cell.state === "running") === true,
    )
  )
    return;
  const isRoot = (task: number): boolean =>
    !draft.plan.tasks[task]!.upstream.some((up) => map.tasks.includes(up));
  const lost = map.sources.find((source) => !hasList(draft, source));
  if (lost !== undefined) {
    const state = draft.cells.task(lost).own.state === "skipped" ? "skipped" : "upstream_failed";
    for (const task of waits.filter(isRoot)) draft.settle({ task, index: -1 }, state, null);
    return;
  }
  const size = countOf(map, listsOf(draft, map), (name) => nameOf(draft, map, name));
  if (size.kind === "refused") {
    const error = { code: size.code, message: size.message, retryable: false };
    for (const task of waits.filter(isRoot)) refuse(draft, { task, index: -1 }, error);
    return;
  }
  for (const task of waits) {
    if (size.count === 0) {
      draft.settle({ task, index: -1 }, "skipped", null);
      continue;
    }
    const { own, instances } = draft.cells.task(task);
    const known = instances?.length ?? 0;
    if (own.told === true) remove(draft, { task, index: -1 });
    draft.cells.mapOut(task, size.count);
    draft.open += size.count - 1;
    for (let index = size.count; index < known; index++) remove(draft, { task, index });
  }
  if (size.count === 0) return;
  // Depth first: what comes earlier of one instance goes before the next instance.
  for (let index = 0; index < size.count; index++) {
    for (const task of waits) draft.evaluate({ task, index });
  }
}

/** Of a mapped source: what succeeded is the list, however the rest ended. */
function hasList(draft: Draft, source: number): boolean {
  const { count, own } = draft.cells.task(source);
  return count !== null || own.state === "success";
}

function listsOf(draft: Draft, map: RunMap): Record<string, Measured> {
  return Object.fromEntries(
    Object.entries(map.over).map(([name, source]): [string, Measured] => {
      if (typeof source !== "number") return [name, { items: source.length }];
      const { tally } = draft.cells.task(source);
      if (tally !== null) return [name, { items: tally.success }];
      return [name, draft.measured[source] ?? { not: "nothing: it has no output" }];
    }),
  );
}

function nameOf(draft: Draft, map: RunMap, name: string): string {
  const source = map.over[name]!;
  const of = typeof source === "number" ? ` (the output of task "${draft.plan.tasks[source]!.id}")` : "";
  return `list "${name}"${of}`;
}

/** A try that fails before it begins, so that its error has a place to stand. */
function refuse(draft: Draft, at: At, error: BodyError): void {
  const cell = draft.cell(at);
  draft.cells.set(at.task, at.index, { ...cell, try: cell.try + 1 });
  draft.settle(at, "failed", { state: "failed", outcome: { kind: "failed", error } });
}

function remove(draft: Draft, at: At): void {
  const cell = draft.cells.get(at.task, at.index);
  if (cell.state === "removed") return;
  draft.cells.set(at.task, at.index, { ...NEW_CELL, try: cell.try, state: "removed" });
  draft.record(at, "removed", null);
}
