import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { Grant } from "../activities/types.ts";
import { planOf } from "../core/plan.ts";
import { pack, unpack } from "../core/packed.ts";
import { newProgress, type RunProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { RunState, TaskState } from "../core/states.ts";
import type { Carried } from "./carried.ts";
import { Commands } from "./commands.ts";
import { Inbox } from "./inbox.ts";
import {
  commandUpdate,
  grantsSignal,
  partSignal,
  progressQuery,
  wokenSignal,
  type DagRunInput,
  type DagRunResult,
  type OpenedAtStart,
} from "./messages.ts";
import type { OpenRun } from "./open-run.ts";
import { inItsVersion } from "./other-version.ts";
import { short } from "./short-activity.ts";
import { Turns } from "./turns.ts";

/**
 * A DAG run: asks the pure `step` what is next and performs it (design 1). No user code runs here.
 * In the sandbox every promise costs a captured stack, and every scope three promises (measured: half of a step's CPU),
 * so this path makes few.
 */
export async function dagRun(input: DagRunInput): Promise<DagRunResult> {
  const inbox = new Inbox();
  const commands = new Commands(() => inbox.wake());
  /** What came in before the run was open. */
  const early: ((turns: Turns) => void)[] = [];
  let turns: Turns | null = null;
  const tell = (word: (turns: Turns) => void): void => {
    if (turns === null) early.push(word);
    else word(turns);
  };
  setHandler(grantsSignal, (grants) => tell((to) => to.granted(grants)));
  setHandler(wokenSignal, (woken) => tell((to) => to.woken(woken)));
  setHandler(partSignal, (word) => tell((to) => to.heard(word)));
  setHandler(progressQuery, () =>
    turns === null ? (input.carried?.progress ?? null) : pack(turns.progress),
  );
  setHandler(commandUpdate, (command) => commands.ask(command));

  // A cancel of the workflow asks the bodies to stop; the run then ends in order, its records written.
  let cancelled = input.carried?.cancelled ?? false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    inbox.push({ kind: "end", as: "cancelled", reason: "cancelled in Temporal" });
  });
  /** Of the run's own calls: nothing cancels them. */
  const calls = new CancellationScope({ cancellable: false });

  const ended = await calls.run(async () => {
    const opened = await open(input);
    if ("gone" in opened) {
      for (let asked = commands.take(); asked !== undefined; asked = commands.take())
        asked.refuse("run_forgotten", "how far this run came is not kept any more: trigger a new one");
      return opened;
    }
    let run = (turns = new Turns(input.run, opened, inbox, calls));
    const goOnAs = (other: Turns): void => void (run = turns = other);
    for (const word of early) word(run);
    do {
      // Of its tries and delays: cancelled by the run alone, and made anew for one that goes on after its end.
      const bodies = new CancellationScope({ cancellable: true, parent: calls });
      const isOver = await bodies.run(
        async () => await untilOver(run, bodies, inbox, commands, calls, goOnAs),
      );
      if (!isOver) return { carried: run.carried(cancelled) };
      // A command may have come in while the run was closed; else nothing may be left half answered.
      if (!commands.waiting && !allHandlersFinished())
        await condition(() => commands.waiting || allHandlersFinished());
    } while (commands.waiting);
    return run.progress;
  });

  if ("gone" in ended) return { state: ended.gone, tasks: {} };
  if ("carried" in ended) {
    const { dagId, runId, run } = input;
    const { carried: next } = ended;
    // Temporal takes over the search attributes alone.
    const memo = { ...workflowInfo().memo, parts: next.parts.open.map(({ number }) => number) };
    return await makeContinueAsNewFunc<typeof dagRun>({ memo })({ dagId, runId, run, carried: next });
  }
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

/**
 * Takes turns until the run is closed, or finds it closed and nothing asked of it. False: its history has become long, and
 * it goes on in a new execution; nothing is under way, and nobody waits for an answer.
 */
async function untilOver(
  given: Turns,
  bodies: CancellationScope,
  inbox: Inbox,
  commands: Commands,
  calls: CancellationScope,
  goOnAs: (other: Turns) => void,
): Promise<boolean> {
  let turns = given;
  turns.within(bodies);
  for (;;) {
    for (let asked = commands.take(); asked !== undefined; asked = commands.take()) {
      const other = await inItsVersion(turns, asked, calls);
      const reopening = other?.command(asked) ?? null;
      if (other === null || reopening === null) continue;
      if (other !== turns) {
        turns.leave();
        goOnAs(other);
        turns = other;
        turns.within(bodies);
      }
      const placed = await calls.run(() => short.reopenRun(reopening.input));
      asked.answer(reopening.answer);
      turns.reopened(placed);
    }
    if (!turns.open) return true;
    if (turns.isPlacedNow()) await calls.run(() => short.resumeRun(turns.run));
    const advance = turns.take();
    const stops = turns.takeStops();
    if (stops !== null) await calls.run(() => short.stopTries(stops));
    if (advance !== null) turns.granted(await calls.run(() => short.advance(advance)));
    if (!turns.running && !turns.mustGoOn) {
      const close = turns.close();
      await calls.run(() => short.closeRun(close));
      return true;
    }
    if (commands.waiting || turns.mustGoOn) continue;
    if (turns.isAtTurn) {
      const last = turns.lastWords();
      if (last !== null) turns.granted(await calls.run(() => short.advance(last)));
      // Whatever came in meanwhile is looked at first.
      else if (allHandlersFinished()) return false;
      else await condition(() => commands.waiting || allHandlersFinished());
      continue;
    }
    const filled = inbox.filled();
    if (filled !== null) await filled;
  }
}

async function open(input: DagRunInput): Promise<OpenRun | { readonly gone: RunState }> {
  if (input.carried !== undefined) return await openCarried(input.carried);
  return input.opened === undefined ? await openItself(input.run) : openedAtStart(input.opened);
}

/** The tasks alone are read again: they may be too large for a workflow's input together with the rest. */
async function openCarried(carried: Carried): Promise<OpenRun> {
  const { info, progress } = carried;
  const plan = planOf(await short.readGraph(info.version));
  return { plan, info, progress: unpack(progress), effects: [], grants: [], isClosed: false, carried };
}

async function openItself(run: number): Promise<OpenRun | { readonly gone: RunState }> {
  const opened = await short.openRun(run);
  if (opened.kind === "gone") return { gone: opened.state };
  if (opened.progress === null) return begin(opened, opened.grants);
  const { info, graph, progress, grants } = opened;
  return {
    plan: planOf(graph),
    info,
    progress: unpack(progress),
    effects: [],
    grants,
    isClosed: opened.kind === "closed",
  };
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
  return { plan, info, progress, effects, grants, isClosed: false };
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
