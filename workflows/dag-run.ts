import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  setHandler,
} from "@temporalio/workflow";
import type { Decision, Grant, OpenedAtStart, RunInfo, SlotRequest } from "../activities/types.ts";
import {
  newProgress,
  planOf,
  step,
  type Effect,
  type RunEvent,
  type RunPlan,
  type RunProgress,
} from "../core/run.ts";
import type { RunState } from "../core/states.ts";
import { Inbox } from "./inbox.ts";
import { grantsSignal, progressQuery, type DagRunInput, type DagRunResult } from "./messages.ts";
import { short } from "./short-activity.ts";
import { Tries } from "./tries.ts";

/** A DAG run: asks the pure `step` what is next and performs it (design 1). No user code runs here. */
export async function dagRun(input: DagRunInput): Promise<DagRunResult> {
  const inbox = new Inbox();
  const early: Grant[] = [];
  let onGrants = (grants: readonly Grant[]): void => void early.push(...grants);
  let progress: RunProgress | null = null;
  setHandler(grantsSignal, (grants) => onGrants(grants));
  setHandler(progressQuery, () => progress);

  // A cancel of the workflow asks the bodies to stop; the run then ends in order, its records written.
  let cancelled = false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    inbox.push({ kind: "cancel", reason: "cancelled in Temporal" });
  });

  const result = await CancellationScope.nonCancellable(async (): Promise<DagRunResult> => {
    const opened = input.opened === undefined ? await openItself(input.run) : openedAtStart(input.opened);
    if ("closed" in opened) return { state: opened.closed, tasks: {} };
    const positions = new Map(opened.plan.tasks.map((task, position) => [task.id, position]));
    progress = opened.progress;
    onGrants = (grants) => {
      for (const grant of grants) {
        const task = positions.get(grant.taskId);
        if (task !== undefined) inbox.push({ kind: "granted", task, try: grant.try });
      }
    };
    onGrants(opened.grants);
    onGrants(early);
    const report = (next: RunProgress): void => void (progress = next);
    const ended = await interpret(input.run, opened, { inbox, positions, onGrants }, report);
    if (!allHandlersFinished()) await condition(allHandlersFinished);
    return { state: ended.state, tasks: countOf(ended) };
  });

  if (cancelled && result.state === "cancelled") throw new CancelledFailure("the run was cancelled");
  if (result.state === "failed") {
    throw ApplicationFailure.nonRetryable(
      `run ${input.runId} of dag ${input.dagId} failed`,
      "run_failed",
      result.tasks,
    );
  }
  return result;
}

interface OpenRun {
  readonly plan: RunPlan;
  readonly info: RunInfo;
  readonly progress: RunProgress;
  readonly grants: readonly Grant[];
}

async function openItself(run: number): Promise<OpenRun | { readonly closed: RunState }> {
  const opened = await short.openRun(run);
  return opened.kind === "closed" ? { closed: opened.state } : { ...opened, plan: planOf(opened) };
}

/** The maker of the run has taken the first step already (`client/opening.ts`); it is the same for all. */
function openedAtStart({ info, tasks, grants }: OpenedAtStart): OpenRun {
  const plan = planOf({ tasks });
  const { progress } = step(plan, newProgress(plan), { kind: "opened" });
  return { plan, info, progress, grants: grants.map((taskId) => ({ taskId, mapIndex: -1, try: 1 })) };
}

interface Told {
  readonly inbox: Inbox;
  readonly positions: ReadonlyMap<string, number>;
  readonly onGrants: (grants: readonly Grant[]) => void;
}

/** Decisions that may wait for the next call; more are written down at once. */
const PENDING_LIMIT = 200;

async function interpret(
  run: number,
  { plan, info, progress: first }: OpenRun,
  { inbox, positions, onGrants }: Told,
  report: (progress: RunProgress) => void,
): Promise<RunProgress> {
  /** Tasks that have their slots before the run asks: only what came with a try's own end counts. */
  const ahead = new Set<number>();
  const tries = new Tries(
    plan,
    info,
    (event) => inbox.push(event),
    (taskIds) => {
      for (const taskId of taskIds) ahead.add(positions.get(taskId)!);
    },
  );
  let progress = first;
  let pending: Decision[] = [];
  while (progress.state === "running") {
    await inbox.filled();
    const requests: SlotRequest[] = [];
    const starts: { task: number; try: number }[] = [];
    let mustSettle = false;
    let stop = false;
    // It grows while it is read: a task asked for ahead is granted as soon as it is ready.
    const events: RunEvent[] = inbox.take();
    for (const event of events) {
      const next = step(plan, progress, event);
      progress = next.progress;
      // The account book holds a slot for a try that has ended: it has lost that end, and is told at once.
      if (event.kind === "granted" && next.effects.length === 0) mustSettle ||= pending.length > 0;
      for (const effect of next.effects) {
        if (effect.kind === "start") starts.push(effect);
        else if (effect.kind === "stop") stop = true;
        else if (effect.kind === "wait") tries.wait(effect.task, effect.try, effect.delayMs);
        else if (effect.kind === "request") {
          const { task, try: number } = effect;
          if (number === 1 && ahead.delete(task) && allAtFirstTry(plan, progress, task))
            events.push({ kind: "granted", task, try: 1 });
          else requests.push(requestOf(plan, task, number));
        } else if (effect.kind === "record") {
          pending.push(decisionOf(plan, effect));
          mustSettle ||= !isKnownAlready(effect);
        }
      }
    }
    report(progress);
    if (starts.length > 0) tries.start(starts);
    if (stop) tries.stop();
    if (progress.state !== "running") break;
    if (requests.length > 0 || mustSettle || pending.length >= PENDING_LIMIT) {
      const decisions = pending;
      pending = [];
      onGrants(await short.advance({ run, decisions, requests }));
    }
  }
  tries.end();
  await short.closeRun({
    run,
    decisions: pending,
    state: progress.state,
    reason: progress.cancelled,
    progress,
  });
  return progress;
}

/**
 * Slots asked for ahead rest on recorded successes; one that the run then called lost has given them back
 * (`app.settle`). So they are trusted only where no upstream needed another try; else the run asks itself.
 */
function allAtFirstTry(plan: RunPlan, progress: RunProgress, task: number): boolean {
  return plan.tasks[task]!.upstream.every((up) => progress.cells[up]!.try === 1);
}

/**
 * The worker wrote these itself when the try ended, before Temporal knew of it: the run repeats them with its next
 * decision and need not wake the database for them alone.
 */
function isKnownAlready(effect: Extract<Effect, { kind: "record" }>): boolean {
  return effect.ended !== null && (effect.state === "success" || effect.state === "skipped");
}

function requestOf(plan: RunPlan, position: number, number: number): SlotRequest {
  const task = plan.tasks[position]!;
  return {
    taskId: task.id,
    mapIndex: -1,
    try: number,
    pool: task.pool,
    slots: task.poolSlots,
    priority: task.priorityWeight,
  };
}

function decisionOf(plan: RunPlan, effect: Extract<Effect, { kind: "record" }>): Decision {
  const { seq, task, state, ended } = effect;
  return { seq, taskId: plan.tasks[task]!.id, mapIndex: -1, try: effect.try, state, ended };
}

function countOf(progress: RunProgress): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const cell of progress.cells) counts[cell.state] = (counts[cell.state] ?? 0) + 1;
  return counts;
}
