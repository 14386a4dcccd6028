/** Why a task has not begun (F16): each thing that holds it back, with the reason and since when. */
import type { Graph, RunDetail } from "../api/contracts.ts";
import { RUN_DONE, TASK_DONE, type TaskState } from "../core/states.ts";
import type { Table } from "./output.ts";

interface Dep {
  /** `run`: the run itself waits to begin; `upstream`: tasks before it; `slots`: its pool or its queue. */
  readonly dep: "run" | "upstream" | "slots";
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
}

export const DEPS: Table<Dep> = {
  columns: { dep: (one) => one.dep, since: (one) => one.since, reason: (one) => one.reason },
  shown: ["dep", "since", "reason"],
  id: (one) => one.dep,
};

/** States in which a task has not begun, or waits between two tries. */
const WAITS: ReadonlySet<TaskState> = new Set(["none", "queued", "up_for_retry"]);

export function failedDeps(run: RunDetail, graph: Graph, taskId: string, mapIndex: number): FailedDeps {
  const { dagId, runId, cells } = run;
  const cell = cells.find((one) => one.taskId === taskId && one.mapIndex === mapIndex);
  const state = cell?.state ?? "none";
  const deps: Dep[] = [];
  if (WAITS.has(state) && !RUN_DONE[run.state]) {
    for (const one of run.waiting) {
      const reason = one.reason ?? "it has asked for its slots, and nobody has decided yet";
      if (one.taskId === null) deps.push({ dep: "run", reason, since: one.since });
      else if (one.taskId === taskId && one.mapIndex === mapIndex)
        deps.push({ dep: "slots", reason, since: one.since });
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
  return { dagId, runId, taskId, mapIndex, state, deps };
}

function upstreamReason({ cells }: RunDetail, graph: Graph, taskId: string): string | null {
  const before = new Set(graph.edges.filter(({ to }) => to === taskId).map(({ from }) => from));
  const waiting = [...before].flatMap((from) => {
    const own = cells.filter((cell) => cell.taskId === from);
    const open = own.filter(({ state }) => !TASK_DONE[state]);
    if (own.length > 0 && open.length === 0) return [];
    return [`${from} (${open[0]?.state ?? "none"})`];
  });
  if (waiting.length === 0) return null;
  const { triggerRule } = graph.tasks.find(({ id }) => id === taskId)!;
  return `its rule ${triggerRule} waits for ${waiting.join(", ")}`;
}
