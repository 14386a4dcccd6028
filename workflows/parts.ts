import {
  getExternalWorkflowHandle,
  ParentClosePolicy,
  sleep,
  startChild,
  upsertMemo,
  workflowInfo,
  type CancellationScope,
} from "@temporalio/workflow";
import type { RunInfo } from "../activities/types.ts";
import { partIdOf } from "../core/ids.ts";
import { RUNS_QUEUE } from "../core/not-begun.ts";
import type { RunPlan } from "../core/plan.ts";
import type { At, AtTry, RunEvent, TryOutcome } from "../core/progress.ts";
import type { CarriedParts } from "./carried.ts";
import { stopSignal, triesSignal, type PartInput, type PartTries, type PartWord } from "./messages.ts";
import { countWithin } from "./pieces.ts";
import type { StartEffect } from "./tries.ts";
import { tryKey, tryTaskOf, type Given, type TryTask } from "./try-activity.ts";
import type { runPart } from "./run-part.ts";

/** Tries of one part, in all: each takes some events of its history. */
const TRIES = 500;
/** Tries in parts at once. */
const OPEN_TRIES = 5_000;
/** A part is there as long as its longest try. */
const OPEN_PARTS = 50;
/** Between two messages to parts: what is to begin meanwhile goes together. */
const REST_MS = 250;

/** Signals that one execution hears of its parts, of the 10,000 that Temporal gives it: the others bring grants. */
const SIGNALS = 8_000;
/** Where this execution's history may be when all that is in parts has ended; of 51,200. */
const EVENTS = 40_000;
/** A try that is the only one of its part until its end: the part, a signal, workflow tasks, a call; some 20 with its beginning. */
const EVENTS_OF_AN_END = 12;

interface Part {
  readonly number: number;
  readonly open: Map<string, StartEffect>;
  given: number;
  /** Temporal has it: more may be given to it. */
  isStarted: boolean;
  /** In the memo. */
  isNoted: boolean;
  /** It has ended, and why. */
  over: string | null;
  /** Of the run to it, unanswered. */
  calls: number;
}

/**
 * The parts of a run: child workflows that its tries go to when it may not begin them itself, since its history is long or
 * too many are in flight. They outlive the execution that started them; their ends come by signal to whichever there is.
 */
export class Parts {
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #push: (event: RunEvent) => void;
  readonly #onGranted: (taskIds: readonly string[]) => void;
  readonly #again: (tries: readonly StartEffect[]) => void;
  readonly #wake: () => void;
  readonly #waitOf: (at: At) => number;
  readonly #calls: CancellationScope;
  readonly #parts = new Map<number, Part>();
  /** Number of the latest part. */
  #last: number;
  #openTries = 0;
  #signals = 0;
  #isResting = false;
  #isDue = false;
  #isStopped = false;
  /** The memo, which is for the reconciler and for people, names one that is gone. */
  #isNoteStale = false;

  /** `again`: tries that a part did not take. `onGranted`, `calls`: as for `Tries`. */
  constructor(
    plan: RunPlan,
    info: RunInfo,
    on: {
      readonly push: (event: RunEvent) => void;
      readonly granted: (taskIds: readonly string[]) => void;
      readonly again: (tries: readonly StartEffect[]) => void;
      readonly wake: () => void;
      /** Behind which of its waits a cell's try goes on; 0: none. */
      readonly waitOf: (at: At) => number;
    },
    calls: CancellationScope,
    carried: CarriedParts = { last: 0, open: [] },
  ) {
    this.#plan = plan;
    this.#info = info;
    this.#push = on.push;
    this.#onGranted = on.granted;
    this.#again = on.again;
    this.#wake = on.wake;
    this.#waitOf = on.waitOf;
    this.#calls = calls;
    this.#last = carried.last;
    for (const { number, given, tries } of carried.open) {
      const part = { number, given, open: new Map(), isStarted: true, isNoted: true, over: null, calls: 0 };
      this.#parts.set(number, part);
      this.#add(
        part,
        tries.map(([task, index, one]) => ({ kind: "start", task, index, try: one })),
      );
    }
  }

  /** A call to a part is under way. */
  get isCalling(): boolean {
    return [...this.#parts.values()].some(({ calls }) => calls > 0);
  }

  /** What has gathered since the last time is to be given now. */
  get isDue(): boolean {
    return this.#isDue;
  }

  get carried(): CarriedParts {
    const open = [...this.#parts.values()].map(({ number, given, open: tries }) => ({
      number,
      given,
      tries: [...tries.values()].map(({ task, index, try: one }) => [task, index, one] as const),
    }));
    return { last: this.#last, open };
  }

  /**
   * Takes what it has room for out of `starts`; then for a while nothing, so that one message carries much. What comes
   * alone does not wait.
   */
  take(starts: StartEffect[], givenOf: (at: StartEffect) => Given): void {
    this.#isDue = false;
    if (this.#isResting || starts.length === 0 || this.#room <= 0) return;
    this.#rest();
    for (let room = this.#room; room > 0 && starts.length > 0;) {
      const open = [...this.#parts.values()].findLast(
        ({ isStarted, over, given }) => isStarted && over === null && given < TRIES,
      );
      if (open === undefined && this.#parts.size >= OPEN_PARTS) return;
      const most = Math.min(room, TRIES - (open?.given ?? 0));
      const tries = starts.slice(0, most).map((at) => [at.task, at.index, at.try, givenOf(at)] as const);
      const count = countWithin(tries, ([, , , one]) => 50 + JSON.stringify(one).length);
      const given = starts.splice(0, count);
      const message = { tasks: this.#tasksOf(given), tries: tries.slice(0, count) };
      if (open === undefined) this.#start(given, message);
      else this.#give(open, given, message);
      room -= count;
    }
  }

  #rest(): void {
    this.#isResting = true;
    const rested = (): void => {
      this.#isResting = false;
      this.#isDue = true;
      this.#wake();
    };
    this.#calls.run(() => sleep(REST_MS)).then(rested, () => undefined);
  }

  get #room(): number {
    const { historyLength } = workflowInfo();
    return Math.min(
      OPEN_TRIES - this.#openTries,
      SIGNALS - this.#signals - this.#openTries,
      Math.floor((EVENTS - historyLength) / EVENTS_OF_AN_END) - this.#openTries,
    );
  }

  #tasksOf(starts: readonly StartEffect[]): Record<number, TryTask> {
    const tasks: Record<number, TryTask> = {};
    for (const { task } of starts) tasks[task] ??= tryTaskOf(this.#plan, task);
    return tasks;
  }

  #add(part: Part, starts: readonly StartEffect[]): void {
    for (const at of starts) part.open.set(tryKey(at), at);
    this.#openTries += starts.length;
  }

  /** Back to the run, or ended. */
  #remove(part: Part, at: StartEffect): void {
    if (part.open.delete(tryKey(at))) this.#openTries -= 1;
  }

  #start(given: readonly StartEffect[], message: PartTries): void {
    const number = (this.#last += 1);
    const part: Part = {
      number,
      given: given.length,
      open: new Map(),
      isStarted: false,
      isNoted: false,
      over: null,
      calls: 0,
    };
    this.#parts.set(number, part);
    this.#add(part, given);
    const { workflowId } = workflowInfo();
    const { dagId, runId } = this.#info;
    const input: PartInput = { workflowId, part: number, info: this.#info, ...message };
    this.#call(part, given, async () => {
      const child = await startChild<typeof runPart>("runPart", {
        workflowId: partIdOf(workflowId, number),
        args: [input],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `part ${number} of ${dagId} ${runId}`,
      });
      part.isStarted = true;
      if (this.#isStopped) this.#stop(part);
      child.result().then(
        () => this.#over(part, "it ended without a word of this try"),
        (error: unknown) => this.#over(part, error instanceof Error ? error.message : String(error)),
      );
    });
  }

  #give(part: Part, given: readonly StartEffect[], message: PartTries): void {
    part.given += given.length;
    this.#add(part, given);
    this.#call(part, given, async () => {
      await getExternalWorkflowHandle(partIdOf(workflowInfo().workflowId, part.number)).signal(
        triesSignal,
        message,
      );
    });
  }

  /** What fails, since a part of that name is there or this one has just ended, is begun elsewhere. */
  #call(part: Part, given: readonly StartEffect[], call: () => Promise<void>): void {
    part.calls += 1;
    this.#calls.run(call).then(
      () => this.#called(part),
      () => {
        part.given = TRIES;
        for (const at of given) this.#remove(part, at);
        this.#again(given);
        this.#called(part);
      },
    );
  }

  #called(part: Part): void {
    part.calls -= 1;
    if (part.over !== null) this.#over(part, part.over);
    else this.#forget(part);
    this.#wake();
  }

  /** All it had has ended. */
  #forget(part: Part): void {
    if (part.open.size === 0 && part.calls === 0) this.#parts.delete(part.number);
  }

  #over(part: Part, why: string): void {
    part.over ??= why;
    if (part.calls > 0 || !this.#parts.delete(part.number)) return;
    for (const at of part.open.values()) {
      this.#openTries -= 1;
      const { task, index, try: number } = at;
      this.#push({ kind: "ended", task, index, try: number, outcome: lost(part.number, why) });
    }
  }

  /** Ends come as often as they are sent: the rules take each once. */
  heard({ part: number, ends, gone, version }: PartWord): void {
    this.#signals += 1;
    // Of tries that the run had behind it when it changed its version: positions are others now.
    if (version !== undefined && version !== this.#info.version) return;
    const part = this.#parts.get(number);
    for (const [task, index, one, outcome, granted, wait] of ends) {
      // A repeat, of the part of a try before its wait.
      if (wait !== this.#waitOf({ task, index })) continue;
      if (part !== undefined) this.#remove(part, { kind: "start", task, index, try: one });
      this.#onGranted(granted);
      this.#push({ kind: "ended", task, index, try: one, outcome });
    }
    if (gone !== undefined) this.#isNoteStale = true;
    if (part === undefined) return;
    if (gone === undefined) this.#forget(part);
    else this.#over(part, gone);
  }

  /** Asks one try to stop, if it is in a part and nobody may ever take it up (`Tries`). */
  stopOne(at: AtTry): void {
    if (this.#plan.tasks[at.task]!.queue === RUNS_QUEUE) return;
    const key = tryKey(at);
    const part = [...this.#parts.values()].find(({ open }) => open.has(key));
    if (part === undefined) return;
    const id = partIdOf(workflowInfo().workflowId, part.number);
    part.calls += 1;
    // One that is gone has nothing to stop.
    this.#calls
      .run(async () => await getExternalWorkflowHandle(id).signal(stopSignal, at.task, at.index, at.try))
      .catch(() => undefined)
      .finally(() => this.#called(part));
  }

  /** Asks all bodies in parts to stop, but for those of teardowns. */
  stop(): void {
    this.#isStopped = true;
    for (const part of this.#parts.values()) if (part.isStarted) this.#stop(part);
  }

  /** Nothing of a run that is over goes on. */
  end(): void {
    if (this.#parts.size > 0) this.stop();
    this.#isStopped = false;
  }

  #stop(part: Part): void {
    const cancel = async (): Promise<void> =>
      await getExternalWorkflowHandle(partIdOf(workflowInfo().workflowId, part.number)).cancel();
    part.calls += 1;
    // One that is gone has nothing to stop.
    this.#calls
      .run(cancel)
      .catch(() => undefined)
      .finally(() => this.#called(part));
  }

  /**
   * Says in the memo which parts there are, with each new one (an event in the history). One that Temporal does not have yet
   * would be taken for gone.
   */
  note(): void {
    const started = [...this.#parts.values()].filter(({ isStarted }) => isStarted);
    if (!this.#isNoteStale && started.every(({ isNoted }) => isNoted)) return;
    this.#isNoteStale = false;
    for (const part of started) part.isNoted = true;
    upsertMemo({ parts: started.map(({ number }) => number) });
  }
}

const lost = (part: number, why: string): TryOutcome => ({
  kind: "lost",
  error: { code: "part_gone", message: `part ${part} of the run is gone: ${why}`, retryable: true },
});
