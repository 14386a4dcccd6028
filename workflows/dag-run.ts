import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  setHandler,
} from "@temporalio/workflow";
import type { Decision, Grant, Opened, SlotRequest } from "../activities/types.ts";
import { planOf, step, type Effect, type RunEvent, type RunPlan, type RunProgress } from "../core/run.ts";
import { grantsSignal, progressQuery, type DagRunInput, type DagRunResult } from "./messages.ts";
import { short } from "./short-activity.ts";
import { Tries } from "./tries.ts";

type OpenedRun = Extract<Opened, { kind: "opened" }>;

/** A DAG run: asks the pure `step` what is next and performs it (design 1). No user code runs here. */
export async function dagRun(input: DagRunInput): Promise<DagRunResult> {
  const inbox: RunEvent[] = [];
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

  const result = await CancellationScope.nonCancellable(async () => {
    const opened = await short.openRun(input.run);
    if (opened.kind === "closed") return { state: opened.state, tasks: {} };
    const plan = planOf(opened);
    const positions = new Map(plan.tasks.map((task, position) => [task.id, position]));
    let now = (progress = opened.progress);
    /** Tasks whose slots were asked for ahead, with the record of what they wait for. */
    const ahead = new Set<number>();
    onGrants = (grants) => {
      for (const grant of grants) {
        const task = positions.get(grant.taskId);
        if (task !== undefined) inbox.push({ kind: "granted", task, try: grant.try });
      }
    };
    onGrants([...opened.grants, ...early]);
    now = await interpret(
      input.run,
      plan,
      opened,
      { events: inbox, positions, ahead, onGrants },
      (next) => (progress = now = next),
    );
    await condition(allHandlersFinished);
    return { state: now.state, tasks: countOf(now) };
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

interface Inbox {
  readonly events: RunEvent[];
  readonly positions: ReadonlyMap<string, number>;
  /** Tasks that have their slots before the run asks: only what came with a try's own end counts. */
  readonly ahead: Set<number>;
  readonly onGrants: (grants: readonly Grant[]) => void;
}

/** Decisions that may wait for the next call; more are written down at once. */
const PENDING_LIMIT = 200;

async function interpret(
  run: number,
  plan: RunPlan,
  opened: OpenedRun,
  inbox: Inbox,
  report: (progress: RunProgress) => void,
): Promise<RunProgress> {
  const tries = new Tries(
    plan,
    opened.info,
    (event) => void inbox.events.push(event),
    (taskIds) => {
      for (const taskId of taskIds) inbox.ahead.add(inbox.positions.get(taskId)!);
    },
  );
  let progress = opened.progress;
  let pending: Decision[] = [];
  while (progress.state === "running") {
    await condition(() => inbox.events.length > 0);
    const requests: SlotRequest[] = [];
    const starts: { task: number; try: number }[] = [];
    let mustSettle = false;
    let stop = false;
    // It grows while it is read: a task asked for ahead is granted as soon as it is ready.
    const events = inbox.events.splice(0);
    for (const event of events) {
      const next = step(plan, progress, event);
      progress = next.progress;
      report(progress);
      for (const effect of next.effects) {
        if (effect.kind === "start") starts.push(effect);
        else if (effect.kind === "stop") stop = true;
        else if (effect.kind === "wait") tries.wait(effect.task, effect.try, effect.delayMs);
        else if (effect.kind === "request") {
          const { task, try: number } = effect;
          if (number === 1 && inbox.ahead.delete(task) && allAtFirstTry(plan, progress, task))
            events.push({ kind: "granted", task, try: 1 });
          else requests.push(requestOf(plan, task, number));
        } else if (effect.kind === "record") {
          pending.push(decisionOf(plan, effect));
          mustSettle ||= !isKnownAlready(effect);
        }
      }
    }
    if (starts.length > 0) tries.start(starts);
    if (stop) tries.stop();
    if (progress.state !== "running") break;
    if (requests.length > 0 || mustSettle || pending.length >= PENDING_LIMIT) {
      const decisions = pending;
      pending = [];
      inbox.onGrants(await short.advance({ run, decisions, requests }));
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
