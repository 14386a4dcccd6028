/** Why a task has not begun (F16): each thing that holds it back, with the reason and since when. */
import type { Graph, RunDetail } from "../api/contracts.ts";
import { RUN_DONE, TASK_DONE, type TaskState } from "../core/states.ts";
import type { Table } from "./output.ts";
import { reasonOf } from "./run-text.ts";

interface Dep {
  /** `run`: the run itself waits to begin; `upstream`: tasks before it; `slots`: its pool or its queue; `wait`: what it is deferred for. */
  readonly dep: "run" | "upstream" | "slots" | "wait";
  readonly reason: string;
  readonly since: string | null;
}

interface FailedDeps {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly state: TaskState;
  readonly deps: readonly Dep[];
  /** Of a task that could not run: those, however far before it, that ended without success by themselves. */
  readonly causes: readonly string[];
}

export const DEPS: Table<Dep> = {
  columns: { dep: (one) => one.dep, since: (one) => one.since, reason: (one) => one.reason },
  shown: ["dep", "since", "reason"],
  id: (one) => one.dep,
};

/** States in which a task has not begun, waits between two tries, or waits without a slot. */
const WAITS: ReadonlySet<TaskState> = new Set(["none", "queued", "up_for_retry", "deferred"]);

export function failedDeps(run: RunDetail, graph: Graph, taskId: string, mapIndex: number): FailedDeps {
  const { dagId, runId, cells } = run;
  const cell = cells.find((one) => one.taskId === taskId && one.mapIndex === mapIndex);
  const state = cell?.state ?? "none";
  const deps: Dep[] = [];
  const ended = state === "upstream_failed" || (state === "skipped" && cell?.startedAt === null);
  const causes = ended ? causesOf(run, graph, taskId) : [];
  if (ended) {
    const reason = missedReason(run, graph, taskId, causes);
    deps.push({ dep: "upstream", reason, since: cell?.endedAt ?? null });
  }
  if (WAITS.has(state) && !RUN_DONE[run.state]) {
    for (const one of run.waiting) {
      const reason = reasonOf(one);
      if (one.taskId === null) deps.push({ dep: "run", reason, since: one.since });
      else if (one.taskId === taskId && one.mapIndex === mapIndex)
        deps.push({ dep: state === "deferred" ? "wait" : "slots", reason, since: one.since });
    }
    if (run.state === "queued" && deps.length === 0) {
      const reason = run.reason ?? "the run has not begun";
      deps.push({ dep: "run", reason, since: run.queuedAt });
    }
    if (state === "up_for_retry" && deps.length === 0) {
      const reason = `it waits for the delay before try ${(cell?.try ?? 1) + 1}`;
      deps.push({ dep: "run", reason, since: cell?.endedAt ?? null });
    }
    if (state === "none") {
      const upstream = upstreamReason(run, graph, taskId);
      if (upstream !== null) deps.push({ dep: "upstream", reason: upstream, since: null });
    }
  }
  return { dagId, runId, taskId, mapIndex, state, deps, causes };
}

/** The state of a task that counts for those behind it: of mapped instances, the one that did worst. */
function endOf({ cells }: RunDetail, taskId: string): TaskState {
  const states = new Set(cells.filter((cell) => cell.taskId === taskId).map(({ state }) => state));
  const worst = (["failed", "cancelled", "upstream_failed", "skipped"] as const).find((one) =>
    states.has(one),
  );
  return worst ?? [...states][0] ?? "none";
}

const upstreamOf = (graph: Graph, taskId: string): string[] => [
  ...new Set(graph.edges.filter(({ to }) => to === taskId).map(({ from }) => from)),
];

/** Follows what could not run back to what failed, was cancelled or skipped itself. */
function causesOf(run: RunDetail, graph: Graph, taskId: string): string[] {
  const failed: string[] = [];
  const skipped: string[] = [];
  const seen = new Set<string>();
  const open = [taskId];
  for (const id of open) {
    for (const from of upstreamOf(graph, id).filter((one) => !seen.has(one))) {
      seen.add(from);
      const state = endOf(run, from);
      const ranItself = run.cells.some((cell) => cell.taskId === from && cell.startedAt !== null);
      if (state === "failed" || state === "cancelled") failed.push(from);
      else if (state === "skipped" && ranItself) skipped.push(from);
      else if (state === "skipped" || state === "upstream_failed") open.push(from);
    }
  }
  // A skip is a cause only where nothing failed.
  return failed.length > 0 ? failed : skipped;
}

const PAST: Partial<Record<TaskState, string>> = {
  failed: "failed",
  cancelled: "was cancelled",
  skipped: "skipped itself",
};

function missedReason(run: RunDetail, graph: Graph, taskId: string, causes: readonly string[]): string {
  const { triggerRule } = graph.tasks.find(({ id }) => id === taskId)!;
  const before = upstreamOf(graph, taskId);
  const without = before.filter((id) => endOf(run, id) !== "success");
  const states = (without.length > 0 ? without : before).map((id) => `${id} is ${endOf(run, id)}`);
  const further = causes.filter((id) => !before.includes(id)).map((id) => `${id} ${PAST[endOf(run, id)]}`);
  const because = further.length === 0 ? "" : `, because ${few(further)}`;
  return `its rule ${triggerRule} cannot be met any more: ${few(states)}${because}`;
}

/** Of more than these, how many there are. */
const FEW = 5;
const few = (texts: readonly string[]): string =>
  texts.length <= FEW ? texts.join(", ") : `${texts.slice(0, FEW).join(", ")} and ${texts.length - FEW} more`;

function upstreamReason({ cells }: RunDetail, graph: Graph, taskId: string): string | null {
  const waiting = upstreamOf(graph, taskId).flatMap((from) => {
    const own = cells.filter((cell) => cell.taskId === from);
    const open = own.filter(({ state }) => !TASK_DONE[state]);
    if (own.length > 0 && open.length === 0) return [];
    return [`${from} (${open[0]?.state ?? "none"})`];
  });
  if (waiting.length === 0) return null;
  const { triggerRule } = graph.tasks.find(({ id }) => id === taskId)!;
  return `its rule ${triggerRule} waits for ${few(waiting)}`;
}
