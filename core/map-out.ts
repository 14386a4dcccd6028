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

/** What a map's lists come to. */
type Size =
  | { readonly kind: "unknown" }
  | { readonly kind: "count"; readonly count: number }
  /** A list is missing, since its task did not succeed. */
  | { readonly kind: "lost"; readonly state: "skipped" | "upstream_failed" }
  | { readonly kind: "refused"; readonly error: BodyError };

function sizeOf(draft: Draft, map: RunMap): Size {
  if (!map.sources.every((source) => draft.cells.isDone(source))) return { kind: "unknown" };
  // Those of it that have their instances keep them: the others get as many.
  const counts = map.tasks.map((task) => draft.cells.task(task).count);
  const known = counts.find((count) => count !== null);
  if (known !== undefined && known !== null) return { kind: "count", count: known };
  const lost = map.sources.find((source) => !hasList(draft, source));
  if (lost !== undefined) {
    const isSkipped = draft.cells.task(lost).own.state === "skipped";
    return { kind: "lost", state: isSkipped ? "skipped" : "upstream_failed" };
  }
  const size = countOf(map, listsOf(draft, map), (name) => nameOf(draft, map, name));
  if (size.kind === "count") return size;
  return { kind: "refused", error: { code: size.code, message: size.message, retryable: false } };
}

/** Makes the instances of a map as soon as all its lists are there. */
export function mapOut(draft: Draft, at: number): void {
  const map = draft.plan.maps[at]!;
  const waits = map.tasks.filter(
    (task) => draft.cells.task(task).count === null && draft.cells.task(task).own.state === "none",
  );
  if (waits.length === 0 || draft.ending !== null || isRunning(draft, map)) return;
  const size = sizeOf(draft, map);
  if (size.kind === "unknown") return;
  if (size.kind !== "count" || size.count === 0) {
    for (const task of waits) draft.evaluate({ task, index: -1 });
    return;
  }
  for (const task of waits) {
    if (draft.cells.task(task).own.told === true) remove(draft, { task, index: -1 });
    removeFrom(draft, task, size.count);
    draft.cells.mapOut(task, size.count);
    draft.open += size.count - 1;
  }
  // Depth first: what comes earlier of one instance goes before the next instance.
  for (let index = 0; index < size.count; index++) {
    for (const task of waits) draft.evaluate({ task, index });
  }
}

/** A mapped task as a whole that its rule lets run: it has no instances when its lists give none. */
export function runAsWhole(draft: Draft, at: At): void {
  if (draft.ending !== null) {
    draft.settle(at, "skipped", null);
    return;
  }
  const map = draft.plan.maps[draft.plan.tasks[at.task]!.map!]!;
  if (isRunning(draft, map)) return;
  const size = sizeOf(draft, map);
  if (size.kind === "unknown" || (size.kind === "count" && size.count > 0)) return;
  removeFrom(draft, at.task, 0);
  if (size.kind === "lost") draft.settle(at, size.state, null);
  else if (size.kind === "count") draft.settle(at, "skipped", null);
  else if (draft.plan.tasks[at.task]!.upstream.some((up) => map.tasks.includes(up)))
    draft.settle(at, "upstream_failed", null);
  else refuse(draft, at, size.error);
}

/** Instances from before are still being stopped. */
const isRunning = (draft: Draft, map: RunMap): boolean =>
  map.tasks.some((task) => {
    const { count, instances } = draft.cells.task(task);
    return count === null && instances?.some((cell) => cell.state === "running") === true;
  });

/** Instances that a shorter list does not have any more. */
function removeFrom(draft: Draft, task: number, from: number): void {
  const known = draft.cells.task(task).instances?.length ?? 0;
  for (let index = from; index < known; index++) remove(draft, { task, index });
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
