import type { CancellationScope } from "@temporalio/workflow";
import type {
  AdvanceInput,
  CloseInput,
  Decision,
  Grant,
  ReopenInput,
  RunInfo,
  StopInput,
} from "../activities/types.ts";
import { inputsOf } from "../core/inputs.ts";
import { pack } from "../core/packed.ts";
import type { RunPlan } from "../core/plan.ts";
import type { At, CommandAnswer, Effect, RunEvent, RunProgress } from "../core/progress.ts";
import { remap } from "../core/remap.ts";
import { answered, command, type RunCommand } from "../core/run-command.ts";
import { Steps } from "../core/run.ts";
import { decisionOf, goingOn, grantOf, newest, requestOf, requestsOf, waitsOf } from "./asks.ts";
import type { Carried } from "./carried.ts";
import type { Inbox } from "./inbox.ts";
import type { AskedCommand } from "./commands.ts";
import type { PartWord, WokenMessage } from "./messages.ts";
import { now } from "./now.ts";
import type { Moved, OpenRun } from "./open-run.ts";
import { pieceOf, ROWS } from "./pieces.ts";
import { Parts } from "./parts.ts";
import { Starts } from "./starts.ts";
import { Tries, type StartEffect } from "./tries.ts";
import { isTurnOverDue } from "./turn-over.ts";
import { isKnownAlready, nothing, PENDING_LIMIT, type Wanted } from "./wanted.ts";

/** The turns of a run: each gives all events to the pure `step` and performs what it says, but for the calls out. */
export class Turns {
  readonly run: number;
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #inbox: Inbox;
  readonly #calls: CancellationScope;
  /** What a command finds new when it is done in another version; null: it is in the version that it had. */
  #moved: Moved | null;
  #isLeft = false;
  readonly #tries: Tries;
  readonly #parts: Parts;
  /** Of the execution before; null: it has gone on from there. */
  #carried: Carried | null;
  /** Tasks that have their slots before the run asks: only what came with a try's own end counts. */
  readonly #ahead = new Set<number>();
  readonly #starts: Starts;
  #pending: Decision[] = [];
  #wanted: Wanted = nothing();
  #progress: RunProgress;
  /** On from where it stands; null: it has not begun, or a command has changed that. */
  #steps: Steps | null = null;
  /** Its row: closed, or waiting for its place among the active runs of its DAG, or open. */
  #row: "closed" | "waiting" | "open";
  #placed = false;

  constructor(
    run: number,
    { plan, info, progress, effects, grants, isClosed, carried, moved }: OpenRun,
    inbox: Inbox,
    calls: CancellationScope,
  ) {
    this.run = run;
    this.#plan = plan;
    this.#info = info;
    this.#progress = progress;
    this.#row = isClosed ? "closed" : "open";
    this.#carried = carried ?? null;
    for (const task of carried?.ahead ?? []) this.#ahead.add(task);
    // It had begun: what it asked for may be forgotten, and asking again is harmless.
    if (carried === undefined && !isClosed && effects.length === 0) {
      this.#wanted.requests.push(...requestsOf(plan, progress));
      this.#wanted.waits.push(...waitsOf(plan, progress));
    }
    this.#inbox = inbox;
    this.#calls = calls;
    this.#moved = moved ?? null;
    if (moved !== undefined) {
      this.#pending.push(...moved.records);
      this.#wanted.mustSettle = true;
    }
    for (const effect of effects) {
      if (effect.kind === "record") this.#pending.push(decisionOf(plan, effect));
      if (effect.kind === "defer") this.#wanted.waits.push(grantOf(plan, effect));
    }
    const push = (event: RunEvent): void => {
      if (!this.#isLeft) inbox.push(event);
    };
    const onGranted = (taskIds: readonly string[]): void => {
      for (const taskId of taskIds) this.#ahead.add(plan.positions.get(taskId)!);
    };
    this.#tries = new Tries(plan, info, push, onGranted, calls);
    const on = {
      push,
      granted: onGranted,
      again: (starts: readonly StartEffect[]) => this.#starts.again(starts),
      wake: () => inbox.wake(),
      waitOf: (at: At) => goingOn(this.#progress, at).resumed?.wait ?? 0,
    };
    const parts = moved === undefined ? carried?.parts : { last: moved.lastPart, open: [] };
    this.#parts = new Parts(plan, info, on, calls, parts);
    this.#starts = new Starts(plan, info, this.#tries, this.#parts, (at) => ({
      inputs: inputsOf(plan, this.#progress, at.task, at.index),
      ...goingOn(this.#progress, at),
    }));
    this.#starts.goOn(carried?.starts ?? []);
    this.granted(grants);
  }

  get progress(): RunProgress {
    return this.#progress;
  }

  get version(): number {
    return this.#info.version;
  }

  get running(): boolean {
    return this.#progress.state === "running";
  }

  get open(): boolean {
    return this.#row !== "closed";
  }

  /** There is something to do though the inbox may be empty. */
  get mustGoOn(): boolean {
    return this.#isPlaced || this.#mustWrite || this.#parts.isDue;
  }

  get #isPlaced(): boolean {
    return this.#row === "waiting" && this.#placed;
  }

  /** More is to be written down than one call takes. */
  get #mustWrite(): boolean {
    if (this.#row !== "open") return false;
    if (!this.running) return this.#pending.length > this.#piece;
    const { mustSettle, requests, waits } = this.#wanted;
    return mustSettle || requests.length > 0 || waits.length > 0;
  }

  /** The scope in which its tries and delays begin from now on. */
  within(bodies: CancellationScope): void {
    this.#tries.within(bodies);
    if (this.#carried !== null) this.#tries.goOn(this.#carried.delays);
    else if (this.#row === "open") this.#startClock();
    this.#carried = null;
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
          ...(grant.wait !== undefined && { wait: grant.wait }),
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

  /** A part of it has something to tell. */
  heard(word: PartWord): void {
    this.#parts.heard(word);
  }

  /** Takes what is in the inbox; answers what must be written down now, or null. */
  take(): AdvanceInput | null {
    const wanted = this.#wanted;
    // It grows while it is read: a task asked for ahead is granted as soon as it is ready.
    const events = this.#inbox.take();
    for (const event of events) {
      const { progress, effects } = (this.#steps ??= new Steps(this.#plan, this.#progress)).next(event);
      this.#progress = progress;
      // The account book holds a slot for a try that has ended: it has lost that end, and is told at once.
      if (event.kind === "granted" && effects.length === 0) wanted.mustSettle ||= this.#pending.length > 0;
      for (const effect of effects) this.#perform(effect, wanted, events);
      // Whoever ended the wait says so until it is written down that the run knows.
      if (event.kind === "woken") wanted.mustSettle ||= this.#pending.length > 0;
    }
    if (wanted.stop) {
      wanted.stop = false;
      this.#starts.stop();
    }
    this.#starts.begin();
    this.#parts.note();
    const isMuch = this.running && this.#row === "open" && this.#pending.length >= PENDING_LIMIT;
    return this.#mustWrite || isMuch ? this.#write() : null;
  }

  /** Decisions first, as many as one call takes, then requests: a decision takes back what was asked for before it. */
  #write(): AdvanceInput {
    const decisions = this.#takePending();
    const isLast = this.#pending.length === 0;
    if (isLast) this.#wanted.mustSettle = false;
    if (!isLast || !this.running) return { run: this.run, decisions, requests: [] };
    const requests = newest(this.#wanted.requests);
    const { waits } = this.#wanted;
    this.#wanted.requests = requests.slice(ROWS);
    this.#wanted.waits = waits.slice(ROWS);
    return {
      run: this.run,
      decisions,
      ...(requests.length > 0 && { version: this.#info.version }),
      requests: requests.slice(0, ROWS),
      ...(waits.length > 0 && { waits: { info: this.#info, tries: waits.slice(0, ROWS) } }),
    };
  }

  #takePending(): Decision[] {
    return this.#pending.splice(0, this.#piece);
  }

  get #piece(): number {
    return pieceOf(this.#pending, ({ ended }) => ended?.outcome ?? null);
  }

  /**
   * Nothing is under way that the end of this execution would lose: no try, no call, nothing to look at or to ask for. What
   * only waits goes over.
   */
  get isAtTurn(): boolean {
    return (
      this.running &&
      this.#row === "open" &&
      isTurnOverDue(this.#info) &&
      this.#tries.inFlight === 0 &&
      !this.#parts.isCalling &&
      this.#inbox.isEmpty
    );
  }

  /** What must be written down before the run goes on in a new execution; null: nothing. */
  lastWords(): AdvanceInput | null {
    return this.#pending.length === 0 ? null : this.#write();
  }

  carried(cancelled: boolean): Carried {
    return {
      info: this.#info,
      progress: pack(this.#progress),
      starts: this.#starts.carried,
      ahead: [...this.#ahead],
      delays: this.#tries.delays,
      parts: this.#parts.carried,
      cancelled,
    };
  }

  /** Tries that are to stop by hand, once; or null. */
  takeStops(): StopInput | null {
    const { stops } = this.#wanted;
    if (stops.length === 0) return null;
    this.#wanted.stops = [];
    return { run: this.run, tries: stops };
  }

  /** It would be answered as it was before. */
  hasDone(asked: RunCommand): boolean {
    return answered(this.#progress, asked) !== undefined;
  }

  /** Of a closed run: its turns in another version, in place of these if it goes on there. */
  inVersion(plan: RunPlan, info: RunInfo): Turns {
    // By the positions of tasks as they were; it is over, so it is late.
    for (const event of this.#inbox.take()) if (event.kind === "end") this.#inbox.push(event);
    const { progress, ...changes } = remap(this.#plan, plan, this.#progress);
    const moved = { ...changes, lastPart: this.#parts.carried.last };
    const open = { plan, info, progress, effects: [], grants: [], isClosed: true, moved };
    return new Turns(this.run, open, this.#inbox, this.#calls);
  }

  /** Others have taken its place. */
  leave(): void {
    this.#isLeft = true;
  }

  /** Performs a command, or refuses it. Of a closed run: what must be written before it is answered. */
  command(asked: AskedCommand): { readonly input: ReopenInput; readonly answer: CommandAnswer } | null {
    const moved = this.#moved;
    const done = command(this.#plan, this.#progress, asked.command, moved ?? undefined);
    if (done.kind === "refused") asked.refuse(done.code, done.message);
    else if (done.kind === "repeat") asked.answer(done.answer);
    else {
      this.#progress = done.progress;
      this.#steps = null;
      for (const effect of done.effects) this.#perform(effect, this.#wanted, []);
      if (this.#row === "closed") {
        this.#moved = null;
        const version = moved === null ? {} : { version: this.version };
        const [decisions, progress] = [this.#takePending(), pack(done.progress)];
        return { input: { run: this.run, decisions, progress, ...version }, answer: done.answer };
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
    if (!this.#isPlaced) return false;
    this.#row = "open";
    this.#startClock();
    return true;
  }

  /** The run's last words; nothing of it waits any more. */
  close(): CloseInput {
    this.#tries.end();
    this.#parts.end();
    this.#ahead.clear();
    const decisions = this.#takePending();
    this.#wanted = nothing();
    this.#row = "closed";
    this.#placed = false;
    const { state, ending } = this.#progress;
    const reason = ending?.reason ?? null;
    return { run: this.run, decisions, state, reason, progress: pack(this.#progress) };
  }

  #perform(effect: Effect, wanted: Wanted, events: RunEvent[]): void {
    switch (effect.kind) {
      case "start":
        this.#starts.add(effect);
        return;
      case "defer":
        wanted.waits.push(grantOf(this.#plan, effect));
        return;
      case "stop":
        // By the database too: a worker hears of Temporal's cancel only with its next heartbeat.
        if (this.#progress.ending !== null) wanted.stop = true;
        if (this.#starts.drop(effect, this.#inbox)) return;
        wanted.stops.push(grantOf(this.#plan, effect));
        this.#tries.stopOne(effect);
        this.#parts.stopOne(effect);
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
