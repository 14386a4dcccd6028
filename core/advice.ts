/** Advice about DAGs that fan out into too small instances: several items to one cost less. Pure. */
import type { SerialGraph } from "./graph.ts";
import type { SerialMap } from "./mapping.ts";

/**
 * From here on it is worth a word. Each instance asks for a slot, is an activity of its run and leaves a try, a cell and
 * lines of history; for dozens that is nothing.
 */
export const MANY_INSTANCES = 100;
/** Half of them took less: what surrounds an instance is then no small part of it. */
const SMALL_MS = 1_000;
/** What an instance should take: its surroundings are then below a hundredth of it, and it is soon tried again. */
const WANTED_MS = 10_000;
/** Of an example for items of which nobody knows yet how long they take. */
const EXAMPLE_BATCH = 10;

/** What is mapped as a whole, and could be in batches: a task, or a group. */
interface Batchable {
  readonly name: string;
  readonly map: SerialMap;
  /** Ids of the tasks that run for each instance. */
  readonly tasks: readonly string[];
}

/** A batch is of one list; what waits has no body to which several items could be given. */
function batchables({ tasks, groups, maps = [] }: SerialGraph): Batchable[] {
  return maps.flatMap((map, at): Batchable[] => {
    const inside = tasks.filter((task) => task.map === at);
    if (Object.keys(map.over).length > 1 || inside.some(({ wait }) => wait !== undefined)) return [];
    const name = map.group === null ? `task "${inside[0]!.id}"` : `group "${groups[map.group]!.id}"`;
    return [{ name, map, tasks: inside.map(({ id }) => id) }];
  });
}

/** Of lists that stand in the DAG file: what is mapped over a long one, item by item. */
export function adviceOnLists(graph: SerialGraph): string[] {
  return batchables(graph).flatMap(({ name, map }) => {
    const [list] = Object.values(map.over);
    if (map.batch !== null || typeof list === "number" || list!.length <= MANY_INSTANCES) return [];
    const batches = Math.ceil(list!.length / EXAMPLE_BATCH);
    return [
      `${name} is mapped one by one over a list of ${list!.length} items, and each is a try with a slot of its own; ` +
        `when one takes less than some seconds, give several to an instance: batch: ${EXAMPLE_BATCH} would make ${batches}`,
    ];
  });
}

/** Ids of the tasks of which `adviceOnRun` wants to know how they ran. */
export const advisable = (graph: SerialGraph): string[] => batchables(graph).flatMap(({ tasks }) => tasks);

/** How the instances of a task ran that succeeded in a run. */
export interface FanOut {
  readonly taskId: string;
  readonly instances: number;
  /** Half of them took less from their start to their end. */
  readonly medianMs: number;
  /** Of all time between being asked for and their ends: before their starts, 0 to 1. */
  readonly waited: number;
}

/** About the one with the most instances of those that were too small; null: none was. */
export function adviceOnRun(graph: SerialGraph, runId: string, fanOuts: readonly FanOut[]): string | null {
  const ran = new Map(fanOuts.map((one) => [one.taskId, one]));
  const small = batchables(graph)
    .flatMap(({ name, map, tasks }) => {
      const each = tasks.flatMap((id) => ran.get(id) ?? []);
      const instances = Math.max(...each.map((one) => one.instances));
      // A task of a group that nobody knows may be the long one.
      if (each.length < tasks.length || instances < MANY_INSTANCES) return [];
      const medianMs = each.reduce((sum, one) => sum + one.medianMs, 0);
      if (medianMs >= SMALL_MS) return [];
      const waited = Math.max(...each.map((one) => one.waited));
      return [{ name, instances, medianMs, waited, batch: batchFor(map.batch ?? 1, instances, medianMs) }];
    })
    .toSorted((a, b) => b.instances - a.instances);
  const [most, ...others] = small;
  if (most === undefined) return null;
  const { name, instances, medianMs, waited, batch } = most;
  const more = others.length === 0 ? "" : `; so is it with ${others.map((one) => one.name).join(", ")}`;
  return (
    `${name} had ${instances} instances in run ${runId}, and half of them took less than ${secondsOf(medianMs)}; ` +
    `${Math.round(waited * 100)} % of the time from being asked for to their ends they waited for slots and starts. ` +
    `Give more items to each: batch: ${batch.size} would make ${batch.count} of ${batch.seconds}${more}`
  );
}

/** So many items that an instance takes about `WANTED_MS`; no more than there are. `now`: how many it has today. */
function batchFor(
  now: number,
  instances: number,
  medianMs: number,
): { readonly size: number; readonly count: number; readonly seconds: string } {
  const items = now * instances;
  const itemMs = Math.max(medianMs, 1) / now;
  const size = Math.min(items, Math.ceil(WANTED_MS / itemMs));
  return {
    size,
    count: Math.ceil(items / size),
    seconds: `about ${secondsOf(Math.min(size * itemMs, WANTED_MS))}`,
  };
}

/** Whole milliseconds below a tenth of a second, else tenths of seconds. */
const secondsOf = (ms: number): string =>
  ms < 100 ? `${Math.max(1, Math.ceil(ms))} ms` : `${(Math.ceil(ms / 100) / 10).toString()} s`;
