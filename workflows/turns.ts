import type { CancellationScope } from "@temporalio/workflow";
import type {
  AdvanceInput,
  CloseInput,
  Decision,
  Grant,
  ReopenInput,
  RunInfo,
  RunTaskInput,
  SlotRequest,
  StopInput,
} from "../activities/types.ts";
import { inputsOf } from "../core/inputs.ts";
import type { RunPlan } from "../core/plan.ts";
import type { RunCell } from "../core/cells.ts";
import type { AtTry, CommandAnswer, Effect, RecordEffect, RunEvent, RunProgress } from "../core/progress.ts";
import { command } from "../core/run-command.ts";
import { step } from "../core/run.ts";
import type { TaskState } from "../core/states.ts";
import { isBodyless } from "../core/waits.ts";
import type { WokenMessage } from "./messages.ts";
import type { Inbox } from "./inbox.ts";
import type { AskedCommand } from "./commands.ts";
import { now } from "./now.ts";
import { Tries } from "./tries.ts";

/** A run as it opens: its plan, and where it stands. */
export interface OpenRun {
  readonly plan: RunPlan;
  readonly info: RunInfo;
  readonly progress: RunProgress;
  /** Of its first step; what they ask for has been asked for. */
  readonly effects: readonly Effect[];
  readonly grants: readonly Grant[];
  /** It is over, and written down so. */
  readonly isClosed: boolean;
}

/**
 * Decisions that may wait for the next call; more are written down at once. With the outputs that travel in results (1 kB
 * at the most) they stay far below the 2 MB of an activity's input, which they become when the database is away.
 */
const PENDING_LIMIT = 200;

/** Tries of a run in flight: Temporal refuses a workflow more than 2,000 activities. The others have their slots and wait. */
const IN_FLIGHT = 1_000;

/** What is to be done outside. */
interface Wanted {
  requests: SlotRequest[];
  /** Tries without a body that begin to wait. */
  waits: Grant[];
  /** Tries that are to stop by hand. */
  stops: Grant[];
  /** All that runs is to stop. */
  stop: boolean;
  mustSettle: boolean;
}

/** The turns of a run: each gives all events to the pure `step` and performs what it says, but for the calls out. */
export class Turns {
  readonly run: number;
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #inbox: Inbox;
  readonly #tries: Tries;
  /** Tasks that have their slots before the run asks: only what came with a try's own end counts. */
  readonly #ahead = new Set<number>();
  /** Granted, and not begun yet. */
  readonly #starts: StartEffect[] = [];
  #inFlight = 0;
  #pending: Decision[] = [];
  #wanted: Wanted = nothing();
  #progress: RunProgress;
  /** Its row: closed, or waiting for its place among the active runs of its DAG, or open. */
  #row: "closed" | "waiting" | "open";
  #placed = false;

  constructor(
    run: number,
    { plan, info, progress, effects, grants, isClosed }: OpenRun,
    inbox: Inbox,
    calls: CancellationScope,
  ) {
    this.run = run;
    this.#plan = plan;
    this.#info = info;
    this.#progress = progress;
    this.#row = isClosed ? "closed" : "open";
    // It had begun: what it asked for may be forgotten, and asking again is harmless.
    if (!isClosed && effects.length === 0) {
      this.#wanted.requests.push(...requestsOf(plan, progress));
      this.#wanted.waits.push(...waitsOf(plan, progress));
    }
    this.#inbox = inbox;
    for (const effect of effects) {
      if (effect.kind === "record") this.#pending.push(decisionOf(plan, effect));
      if (effect.kind === "defer") this.#wanted.waits.push(grantOf(plan, effect));
    }
    this.#tries = new Tries(
      plan,
      info,
      (event) => inbox.push(event),
      (taskIds) => {
        for (const taskId of taskIds) this.#ahead.add(plan.positions.get(taskId)!);
      },
      calls,
    );
    this.granted(grants);
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  get running(): boolean {
    return this.#progress.state === "running";
  }

  get open(): boolean {
    return this.#row !== "closed";
  }

  /** There is something to do though the inbox may be empty. */
  get mustGoOn(): boolean {
    return this.#row === "waiting" && this.#placed;
  }

  /** The scope in which its tries and delays begin from now on. */
  within(bodies: CancellationScope): void {
    this.#tries.within(bodies);
    if (this.#row === "open") this.#startClock();
  }

  /** Of the run's time-out: waiting for its place does not count. */
  #startClock(): void {
    const { timeoutMs } = this.#plan.run;
    if (timeoutMs === null) return;
    const reason = `it took longer than its runTimeout of ${timeoutMs / 1000} s`;
    this.#tries.rest(timeoutMs, { kind: "end", as: "failed", reason });
  }

  granted(grants: readonly Grant[]): void {
    for (const grant of grants) {
      if (grant.taskId === "") {
        this.#placed = true;
        this.#inbox.wake();
        continue;
      }
      const task = this.#plan.positions.get(grant.taskId);
      if (task !== undefined)
        this.#inbox.push({
          kind: "granted",
          task,
          index: grant.mapIndex,
          try: grant.try,
          now: now(),
        });
    }
  }

  /** Waits of its tries have ended. */
  woken(messages: readonly WokenMessage[]): void {
    for (const { taskId, mapIndex, try: number, wait, end } of messages) {
      const task = this.#plan.positions.get(taskId);
      if (task !== undefined)
        this.#inbox.push({ kind: "woken", task, index: mapIndex, try: number, wait, end });
    }
  }

  /** Takes what is in the inbox; answers what must be written down now, or null. */
  take(): AdvanceInput | null {
    const wanted = this.#wanted;
    // It grows while it is read: a task asked for ahead is granted as soon as it is ready.
    const events = this.#inbox.take();
    for (const event of events) {
      const { progress, effects } = step(this.#plan, this.#progress, event);
      this.#progress = progress;
      // The account book holds a slot for a try that has ended: it has lost that end, and is told at once.
      if (event.kind === "granted" && effects.length === 0) wanted.mustSettle ||= this.#pending.length > 0;
      if (event.kind === "ended") this.#inFlight -= 1;
      for (const effect of effects) this.#perform(effect, wanted, events);
      // Whoever ended the wait says so until it is written down that the run knows.
      if (event.kind === "woken") wanted.mustSettle ||= this.#pending.length > 0;
    }
    if (wanted.stop) {
      wanted.stop = false;
      // What was about to begin ends at once, as cancelled.
      this.#start(this.#starts.length);
      this.#tries.stop();
    } else this.#start(IN_FLIGHT - this.#inFlight);
    if (!this.running || this.#row !== "open") return null;
    const { requests, waits, mustSettle } = wanted;
    const isNothing = requests.length === 0 && waits.length === 0 && !mustSettle;
    if (isNothing && this.#pending.length < PENDING_LIMIT) return null;
    this.#wanted = nothing();
    return {
      run: this.run,
      decisions: this.#takePending(),
      requests: newest(requests),
      ...(waits.length > 0 && { waits: { info: this.#info, tries: waits } }),
    };
  }

  #takePending(): Decision[] {
    const decisions = this.#pending;
    this.#pending = [];
    return decisions;
  }

  /** Tries that are to stop by hand, once; or null. */
  takeStops(): StopInput | null {
    const { stops } = this.#wanted;
    if (stops.length === 0) return null;
    this.#wanted.stops = [];
    return { run: this.run, tries: stops };
  }

  /** Performs a command, or refuses it. Of a closed run: what must be written before it is answered. */
  command(asked: AskedCommand): { readonly input: ReopenInput; readonly answer: CommandAnswer } | null {
    const done = command(this.#plan, this.#progress, asked.command);
    if (done.kind === "refused") asked.refuse(done.code, done.message);
    else if (done.kind === "repeat") asked.answer(done.answer);
    else {
      this.#progress = done.progress;
      for (const effect of done.effects) this.#perform(effect, this.#wanted, []);
      if (this.#row === "closed") {
        const input = { run: this.run, decisions: this.#takePending(), progress: done.progress };
        return { input, answer: done.answer };
      }
      asked.answer(done.answer);
    }
    return null;
  }

  /** A closed run is written down as open again. `placed`: it has its place among the active runs of its DAG. */
  reopened(placed: boolean): void {
    this.#row = placed ? "open" : "waiting";
    if (placed) this.#startClock();
  }

  /** True once: it was told that it has its place, and goes on. */
  isPlacedNow(): boolean {
    if (!this.mustGoOn) return false;
    this.#row = "open";
    this.#startClock();
    return true;
  }

  #start(room: number): void {
    const starts = this.#starts.splice(0, room);
    if (starts.length === 0) return;
    this.#inFlight += starts.length;
    this.#tries.start(starts, (at) => ({
      inputs: inputsOf(this.#plan, this.#progress, at.task, at.index),
      ...goingOn(this.#progress, at),
    }));
  }

  /** The run's last words; nothing of it waits any more. */
  close(): CloseInput {
    this.#tries.end();
    this.#ahead.clear();
    this.#wanted = nothing();
    this.#row = "closed";
    this.#placed = false;
    const { state, ending } = this.#progress;
    const reason = ending?.reason ?? null;
    return { run: this.run, decisions: this.#takePending(), state, reason, progress: this.#progress };
  }

  #perform(effect: Effect, wanted: Wanted, events: RunEvent[]): void {
    switch (effect.kind) {
      case "start":
        this.#starts.push(effect);
        return;
      case "defer":
        wanted.waits.push(grantOf(this.#plan, effect));
        return;
      case "stop":
        // By the database too: a worker hears of Temporal's cancel only with its next heartbeat.
        if (this.#progress.ending !== null) wanted.stop = true;
        wanted.stops.push(grantOf(this.#plan, effect));
        return;
      case "wait":
        this.#tries.wait(effect);
        return;
      case "request": {
        const { task, index, try: number } = effect;
        if (number === 1 && index < 0 && this.#ahead.delete(task) && this.#allAtFirstTry(task))
          events.push({ kind: "granted", task, index, try: 1, now: now() });
        else wanted.requests.push(requestOf(this.#plan, effect));
        return;
      }
      case "rest":
        this.#tries.rest(effect.delayMs, { kind: "rerun", rerun: effect.rerun });
        return;
      case "record":
        this.#pending.push(decisionOf(this.#plan, effect));
        wanted.mustSettle ||= !isKnownAlready(effect);
        return;
      case "close":
        return;
    }
  }

  /**
   * Slots asked for ahead rest on recorded successes; one that the run then called lost has given them back
   * (`app.settle`). So they are trusted only where no upstream needed another try; else the run asks itself.
   */
  #allAtFirstTry(task: number): boolean {
    return this.#plan.tasks[task]!.upstream.every((up) => this.#progress.tasks[up]!.own.try === 1);
  }
}

type StartEffect = Extract<Effect, { kind: "start" }>;

/**
 * The worker wrote these itself when the try ended, before Temporal knew of it: the run repeats them with its next
 * decision and need not wake the database for them alone.
 */
function isKnownAlready(effect: RecordEffect): boolean {
  return effect.ended !== null && (effect.state === "success" || effect.state === "skipped");
}

/** Of several tries of one cell the last: a command may have taken back those before it. */
function newest(requests: readonly SlotRequest[]): readonly SlotRequest[] {
  if (requests.length < 2) return requests;
  const byCell = new Map(requests.map((request) => [`${request.taskId} ${request.mapIndex}`, request]));
  return byCell.size === requests.length ? requests : [...byCell.values()];
}

const nothing = (): Wanted => ({ requests: [], waits: [], stops: [], stop: false, mustSettle: false });

const grantOf = (plan: RunPlan, { task, index, try: number }: AtTry): Grant => ({
  taskId: plan.tasks[task]!.id,
  mapIndex: index,
  try: number,
});

/** Of all cells that are queued. */
const requestsOf = (plan: RunPlan, progress: RunProgress): SlotRequest[] =>
  cellsIn(progress, "queued").map((at) => requestOf(plan, at));

/** Of all cells that wait without a body. */
const waitsOf = (plan: RunPlan, progress: RunProgress): Grant[] =>
  cellsIn(progress, "deferred")
    .filter(({ task }) => isBodyless(plan.tasks[task]!.wait))
    .map((at) => grantOf(plan, at));

function cellsIn(progress: RunProgress, wanted: TaskState): AtTry[] {
  return progress.tasks.flatMap(({ own, instances, count }, task) => {
    const cells: (readonly [number, RunCell])[] =
      count === null ? [[-1, own]] : (instances ?? []).slice(0, count).map((cell, index) => [index, cell]);
    return cells.flatMap(([index, { state, try: number }]) =>
      state === wanted ? [{ task, index, try: number }] : [],
    );
  });
}

/** Of a try: how long its sensor may wait, and after which wait it goes on. */
function goingOn(
  progress: RunProgress,
  { task, index }: StartEffect,
): Pick<RunTaskInput, "waitBy" | "resumed"> {
  const { own, instances } = progress.tasks[task]!;
  const { waitBy, waits, resume } = index < 0 ? own : instances![index]!;
  return {
    ...(waitBy !== undefined && { waitBy }),
    ...(resume !== undefined && waits !== undefined && { resumed: { wait: waits, by: resume.by } }),
  };
}

function requestOf(plan: RunPlan, effect: AtTry): SlotRequest {
  const task = plan.tasks[effect.task]!;
  return {
    taskId: task.id,
    mapIndex: effect.index,
    try: effect.try,
    pool: task.pool,
    slots: task.poolSlots,
    priority: task.priorityWeight,
  };
}

function decisionOf(plan: RunPlan, effect: RecordEffect): Decision {
  const { seq, task, index, state, ended } = effect;
  return { seq, taskId: plan.tasks[task]!.id, mapIndex: index, try: effect.try, state, ended };
}
