import type { AdvanceInput, CloseInput, Decision, Grant, RunInfo, SlotRequest } from "../activities/types.ts";
import { inputsOf } from "../core/inputs.ts";
import type { RunPlan } from "../core/plan.ts";
import type { Effect, RecordEffect, RunEvent, RunProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { Inbox } from "./inbox.ts";
import { Tries, type Scopes } from "./tries.ts";

/** A run as it opens: its plan, and where it stands. */
export interface OpenRun {
  readonly plan: RunPlan;
  readonly info: RunInfo;
  readonly progress: RunProgress;
  /** Of its first step; what they ask for has been asked for. */
  readonly effects: readonly Effect[];
  readonly grants: readonly Grant[];
}

/**
 * Decisions that may wait for the next call; more are written down at once. With the outputs that travel in results (1 kB
 * at the most) they stay far below the 2 MB of an activity's input, which they become when the database is away.
 */
const PENDING_LIMIT = 200;

/** Tries of a run in flight: Temporal refuses a workflow more than 2,000 activities. The others have their slots and wait. */
const IN_FLIGHT = 1_000;

/** What one look at the inbox asks for. */
interface Wanted {
  readonly requests: SlotRequest[];
  stop: boolean;
  mustSettle: boolean;
}

/** The turns of a run: each gives all events to the pure `step` and performs what it says, but for the calls out. */
export class Turns {
  readonly #run: number;
  readonly #plan: RunPlan;
  readonly #inbox: Inbox;
  readonly #tries: Tries;
  /** Tasks that have their slots before the run asks: only what came with a try's own end counts. */
  readonly #ahead = new Set<number>();
  /** Granted, and not begun yet. */
  readonly #starts: StartEffect[] = [];
  #inFlight = 0;
  #pending: Decision[] = [];
  #progress: RunProgress;

  constructor(
    run: number,
    { plan, info, progress, effects, grants }: OpenRun,
    inbox: Inbox,
    scopes: Scopes,
  ) {
    this.#run = run;
    this.#plan = plan;
    this.#progress = progress;
    this.#inbox = inbox;
    for (const effect of effects) if (effect.kind === "record") this.#pending.push(decisionOf(plan, effect));
    this.#tries = new Tries(
      plan,
      info,
      (event) => inbox.push(event),
      (taskIds) => {
        for (const taskId of taskIds) this.#ahead.add(plan.positions.get(taskId)!);
      },
      scopes,
    );
    this.granted(grants);
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  get running(): boolean {
    return this.#progress.state === "running";
  }

  granted(grants: readonly Grant[]): void {
    for (const grant of grants) {
      const task = this.#plan.positions.get(grant.taskId);
      if (task !== undefined)
        this.#inbox.push({ kind: "granted", task, index: grant.mapIndex, try: grant.try });
    }
  }

  /** Takes what is in the inbox; answers what must be written down now, or null. */
  take(): AdvanceInput | null {
    const wanted: Wanted = { requests: [], stop: false, mustSettle: false };
    // It grows while it is read: a task asked for ahead is granted as soon as it is ready.
    const events = this.#inbox.take();
    for (const event of events) {
      const { progress, effects } = step(this.#plan, this.#progress, event);
      this.#progress = progress;
      // The account book holds a slot for a try that has ended: it has lost that end, and is told at once.
      if (event.kind === "granted" && effects.length === 0) wanted.mustSettle ||= this.#pending.length > 0;
      if (event.kind === "ended") this.#inFlight -= 1;
      for (const effect of effects) this.#perform(effect, wanted, events);
    }
    if (wanted.stop) {
      // What was about to begin ends at once, as cancelled.
      this.#start(this.#starts.length);
      this.#tries.stop();
    } else this.#start(IN_FLIGHT - this.#inFlight);
    if (!this.running) return null;
    const { requests, mustSettle } = wanted;
    if (requests.length === 0 && !mustSettle && this.#pending.length < PENDING_LIMIT) return null;
    const decisions = this.#pending;
    this.#pending = [];
    return { run: this.#run, decisions, requests };
  }

  #start(room: number): void {
    const starts = this.#starts.splice(0, room);
    if (starts.length === 0) return;
    this.#inFlight += starts.length;
    this.#tries.start(starts, ({ task, index }) => inputsOf(this.#plan, this.#progress, task, index));
  }

  /** The run's last words; nothing of it waits any more. */
  close(): CloseInput {
    this.#tries.end();
    const { state, ending } = this.#progress;
    const reason = ending?.reason ?? null;
    return { run: this.#run, decisions: this.#pending, state, reason, progress: this.#progress };
  }

  #perform(effect: Effect, wanted: Wanted, events: RunEvent[]): void {
    switch (effect.kind) {
      case "start":
        this.#starts.push(effect);
        return;
      case "stop":
        wanted.stop = true;
        return;
      case "wait":
        this.#tries.wait(effect);
        return;
      case "request": {
        const { task, index, try: number } = effect;
        if (number === 1 && index < 0 && this.#ahead.delete(task) && this.#allAtFirstTry(task))
          events.push({ kind: "granted", task, index, try: 1 });
        else wanted.requests.push(requestOf(this.#plan, effect));
        return;
      }
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
type RequestEffect = Extract<Effect, { kind: "request" }>;

/**
 * The worker wrote these itself when the try ended, before Temporal knew of it: the run repeats them with its next
 * decision and need not wake the database for them alone.
 */
function isKnownAlready(effect: RecordEffect): boolean {
  return effect.ended !== null && (effect.state === "success" || effect.state === "skipped");
}

function requestOf(plan: RunPlan, effect: RequestEffect): SlotRequest {
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
