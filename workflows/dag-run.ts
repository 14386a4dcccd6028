import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  setHandler,
} from "@temporalio/workflow";
import type { Grant } from "../activities/types.ts";
import { planOf } from "../core/plan.ts";
import { newProgress, type RunProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { RunState, TaskState } from "../core/states.ts";
import { Inbox } from "./inbox.ts";
import {
  grantsSignal,
  progressQuery,
  type DagRunInput,
  type DagRunResult,
  type OpenedAtStart,
} from "./messages.ts";
import { short } from "./short-activity.ts";
import { Turns, type OpenRun } from "./turns.ts";

/**
 * A DAG run: asks the pure `step` what is next and performs it (design 1). No user code runs here.
 * In the sandbox every promise costs a captured stack, and every scope three promises (measured: half of a step's CPU),
 * so this path makes few.
 */
export async function dagRun(input: DagRunInput): Promise<DagRunResult> {
  const inbox = new Inbox();
  const early: Grant[] = [];
  let turns: Turns | null = null;
  setHandler(grantsSignal, (grants) => {
    if (turns === null) early.push(...grants);
    else turns.granted(grants);
  });
  setHandler(progressQuery, () => turns?.progress ?? null);

  // A cancel of the workflow asks the bodies to stop; the run then ends in order, its records written.
  let cancelled = false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    inbox.push({ kind: "end", as: "cancelled", reason: "cancelled in Temporal" });
  });
  /** Of the run's own calls: nothing cancels them. */
  const calls = new CancellationScope({ cancellable: false });
  /** Of its tries and delays: cancelled by the run alone. */
  const bodies = new CancellationScope({ cancellable: true, parent: calls });

  const ended = await bodies.run(async () => {
    const opened =
      input.opened === undefined
        ? await calls.run(async () => await openItself(input.run))
        : openedAtStart(input.opened);
    if ("closed" in opened) return opened;
    turns = new Turns(input.run, opened, inbox, { bodies, calls });
    turns.granted(early);
    while (turns.running) {
      const filled = inbox.filled();
      if (filled !== null) await filled;
      const advance = turns.take();
      if (advance !== null) turns.granted(await calls.run(() => short.advance(advance)));
    }
    const close = turns.close();
    await calls.run(() => short.closeRun(close));
    if (!allHandlersFinished()) await condition(allHandlersFinished);
    return close.progress;
  });

  if ("closed" in ended) return { state: ended.closed, tasks: {} };
  const tasks = countOf(ended);
  if (cancelled && ended.state === "cancelled") throw new CancelledFailure("the run was cancelled");
  if (ended.state === "failed") {
    throw ApplicationFailure.nonRetryable(
      `run ${input.runId} of dag ${input.dagId} failed`,
      "run_failed",
      tasks,
    );
  }
  return { state: ended.state, tasks };
}

async function openItself(run: number): Promise<OpenRun | { readonly closed: RunState }> {
  const opened = await short.openRun(run);
  return opened.kind === "closed" ? { closed: opened.state } : begin(opened, opened.grants);
}

/** The maker of the run has asked for what the first step asks for already (`client/opening.ts`). */
function openedAtStart(opened: OpenedAtStart): OpenRun {
  return begin(
    opened,
    opened.grants.map((taskId) => ({ taskId, mapIndex: -1, try: 1 })),
  );
}

/** Takes the first step, the same for all; what it asks for has been asked for. */
function begin({ info, graph }: Pick<OpenedAtStart, "info" | "graph">, grants: readonly Grant[]): OpenRun {
  const plan = planOf(graph);
  const { progress, effects } = step(plan, newProgress(plan), { kind: "opened" });
  return { plan, info, progress, effects, grants };
}

function countOf(progress: RunProgress): Record<string, number> {
  const counts: Record<string, number> = {};
  const add = (state: TaskState): void => void (counts[state] = (counts[state] ?? 0) + 1);
  for (const { own, instances, count } of progress.tasks) {
    if (count === null || instances === null) add(own.state);
    else for (const cell of instances) add(cell.state);
  }
  return counts;
}
