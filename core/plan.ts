/** What a run needs of its graph, and what follows from it. Pure. */
import type { AskedOfOutput } from "./decision.ts";
import type { SerialGraph, SerialTask } from "./graph.ts";
import type { SerialMap } from "./mapping.ts";
import { runWaitOf, type RunWait } from "./waits.ts";

export type RunTask = Pick<
  SerialTask,
  | "id"
  | "upstream"
  | "inputs"
  | "items"
  | "triggerRule"
  | "retries"
  | "retryDelayMs"
  | "retryFactor"
  | "retryMaxDelayMs"
  | "retryJitter"
  | "retryRules"
  | "executionTimeoutMs"
  | "pool"
  | "poolSlots"
  | "priorityWeight"
  | "queue"
  | "isolation"
  | "map"
  | "decides"
  | "concurrency"
  | "setup"
  | "teardown"
> & {
  readonly wait?: RunWait;
  /** Why its tries fail without their body's being run: its tenant may not use its queue. Left out: they run. */
  readonly refused?: string;
};

/** Only what a run needs: it is kept in the run's history. What is at its default there is left out. */
export function runTaskOf(task: RunTask): RunTask {
  return {
    id: task.id,
    upstream: task.upstream,
    inputs: task.inputs,
    triggerRule: task.triggerRule,
    retries: task.retries,
    retryDelayMs: task.retryDelayMs,
    retryFactor: task.retryFactor,
    retryMaxDelayMs: task.retryMaxDelayMs,
    executionTimeoutMs: task.executionTimeoutMs,
    pool: task.pool,
    poolSlots: task.poolSlots,
    priorityWeight: task.priorityWeight,
    queue: task.queue,
    isolation: task.isolation,
    ...(task.items !== undefined && { items: task.items }),
    ...(task.retryJitter !== undefined && { retryJitter: task.retryJitter }),
    ...(task.retryRules !== undefined && { retryRules: task.retryRules }),
    ...(task.map !== undefined && { map: task.map }),
    ...(task.decides !== undefined && { decides: task.decides }),
    ...(task.concurrency !== undefined && { concurrency: task.concurrency }),
    ...(task.wait !== undefined && { wait: runWaitOf(task.wait) }),
    ...(task.setup === true && { setup: true }),
    ...(task.teardown !== undefined && { teardown: task.teardown }),
    ...(task.refused !== undefined && { refused: task.refused }),
  };
}

/** A task group or task that is mapped, with the tasks in it. */
export interface RunMap extends SerialMap {
  readonly tasks: readonly number[];
  /** Tasks whose outputs are the lists. */
  readonly sources: readonly number[];
}

export interface RunPlan {
  readonly tasks: readonly RunTask[];
  readonly maps: readonly RunMap[];
  /** Positions of the tasks that wait for each task. */
  readonly downstream: readonly (readonly number[])[];
  readonly positions: ReadonlyMap<string, number>;
  /** Of the run as a whole: its bound in ms or null, and how often and after how long it runs again. */
  readonly run: {
    readonly timeoutMs: number | null;
    readonly retries: number;
    readonly retryDelayMs: number;
  };
  /** Maps whose lists a task gives, by its position. */
  readonly feeds: ReadonlyMap<number, readonly number[]>;
  /** Short circuits from which each task can be reached, by its position. */
  readonly circuits: ReadonlyMap<number, readonly number[]>;
  /** Whether `to` comes after `from`, at any distance. */
  reaches(from: number, to: number): boolean;
  /** All that comes after these, at any distance. */
  after(tasks: Iterable<number>): ReadonlySet<number>;
}

/** What a run carries of its graph. */
export interface RunGraph extends Pick<
  SerialGraph,
  "maps" | "runTimeoutMs" | "runRetries" | "runRetryDelayMs"
> {
  readonly tasks: readonly RunTask[];
}

/** Only what a run needs: what is at its default there is left out. */
export function runGraphOf(graph: SerialGraph): RunGraph {
  const { maps, runTimeoutMs, runRetries, runRetryDelayMs } = graph;
  return {
    tasks: graph.tasks.map(runTaskOf),
    ...(maps !== undefined && { maps: maps.map(({ label: _label, ...map }) => map) }),
    ...(runTimeoutMs !== undefined && { runTimeoutMs }),
    ...(runRetries !== undefined && { runRetries }),
    ...(runRetryDelayMs !== undefined && { runRetryDelayMs }),
  };
}

export function planOf(graph: RunGraph): RunPlan {
  const { tasks } = graph;
  const downstream: number[][] = tasks.map(() => []);
  tasks.forEach((task, position) => {
    for (const up of task.upstream) downstream[up]!.push(position);
  });
  const maps = (graph.maps ?? []).map((map, at): RunMap => {
    const sources = Object.values(map.over).filter((one) => typeof one === "number");
    const inside = tasks.flatMap((task, position) => (task.map === at ? [position] : []));
    return { ...map, tasks: inside, sources: [...new Set(sources)] };
  });
  const feeds = new Map<number, number[]>();
  maps.forEach((map, at) => {
    for (const source of map.sources) feeds.set(source, [...(feeds.get(source) ?? []), at]);
  });
  const reach = new Map<number, ReadonlySet<number>>();
  const afterOne = (from: number): ReadonlySet<number> => {
    let known = reach.get(from);
    if (known === undefined) reach.set(from, (known = reachable(downstream, [from])));
    return known;
  };
  const circuits = new Map<number, number[]>();
  tasks.forEach((task, position) => {
    if (task.decides !== "short_circuit") return;
    for (const later of afterOne(position)) circuits.set(later, [...(circuits.get(later) ?? []), position]);
  });
  return {
    tasks,
    maps,
    downstream,
    positions: new Map(tasks.map((task, position) => [task.id, position])),
    run: {
      timeoutMs: graph.runTimeoutMs ?? null,
      retries: graph.runRetries ?? 0,
      retryDelayMs: graph.runRetryDelayMs ?? 0,
    },
    feeds,
    circuits,
    reaches: (from, to) => afterOne(from).has(to),
    after: (from) => reachable(downstream, from),
  };
}

/** What is asked of the output of a task; nothing of most. */
export function askedOf(plan: RunPlan, position: number): { readonly asked?: AskedOfOutput } {
  const { decides } = plan.tasks[position]!;
  const items = plan.feeds.has(position) && plan.tasks[position]!.map === undefined;
  if (decides === undefined && !items) return {};
  return {
    asked: {
      ...(items && { items }),
      ...(decides === "branch" && { decides: { kind: decides, among: choiceOf(plan, position) } }),
      ...(decides === "short_circuit" && { decides: { kind: decides } }),
    },
  };
}

/** An instance decides for itself alone, so not about what is outside of its map; and nobody does about a teardown. */
function choiceOf(plan: RunPlan, branch: number): string[] {
  const { map } = plan.tasks[branch]!;
  return plan.downstream[branch]!.map((down) => plan.tasks[down]!)
    .filter((down) => down.teardown === undefined && (map === undefined || map === down.map))
    .map(({ id }) => id);
}

/** All that stands behind `from` by `next`, at any distance. */
export function reachable(next: readonly (readonly number[])[], from: Iterable<number>): ReadonlySet<number> {
  const found = new Set<number>();
  const open = [...from];
  for (let task = open.pop(); task !== undefined; task = open.pop()) {
    for (const one of next[task]!) {
      if (found.has(one)) continue;
      found.add(one);
      open.push(one);
    }
  }
  return found;
}

/** The setups that a task stands behind, with their teardowns, when it stands before one of those. */
export function companionsOf(plan: RunPlan, task: number): number[] {
  return plan.tasks.flatMap(({ teardown }, position) => {
    if (teardown === undefined || !plan.reaches(task, position)) return [];
    const setups = teardown.filter((setup) => plan.reaches(setup, task));
    return setups.length === 0 ? [] : [position, ...setups];
  });
}
