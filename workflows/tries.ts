import { CancellationScope } from "@temporalio/workflow";
import type { RunInfo, TaskResult } from "../activities/types.ts";
import { RUNS_QUEUE } from "../core/not-begun.ts";
import type { RunPlan } from "../core/plan.ts";
import type { AtTry, Effect, RunEvent } from "../core/progress.ts";
import { Delays, type CarriedDelays } from "./delays.ts";
import { runTry, tryKey, tryTaskOf, type Given } from "./try-activity.ts";
import { outcomeOfFailure } from "./try-outcome.ts";

export type StartEffect = Extract<Effect, { kind: "start" }>;
type WaitEffect = Extract<Effect, { kind: "wait" }>;

/**
 * The tries in flight of one run, and the delays between tries. Each end is pushed into the run's inbox. All of it runs
 * in the scope that the run is in, and is never waited for here: each end is its own event.
 */
export class Tries {
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #push: (event: RunEvent) => void;
  readonly #onGranted: (taskIds: readonly string[]) => void;
  /** Of the run's tries and delays, in which all of this is used: cancelled by the run alone. */
  #bodies: CancellationScope | null = null;
  /** Nothing cancels what runs in it. */
  readonly #calls: CancellationScope;
  #delays: Delays;
  #inFlight = 0;

  /** Tries that can be stopped one by one. */
  readonly #own = new Map<string, CancellationScope>();

  /** `onGranted`: tasks whose slots came with the end of a try; told before that end is pushed. */
  constructor(
    plan: RunPlan,
    info: RunInfo,
    push: (event: RunEvent) => void,
    onGranted: (taskIds: readonly string[]) => void,
    calls: CancellationScope,
  ) {
    this.#plan = plan;
    this.#info = info;
    this.#push = push;
    this.#onGranted = onGranted;
    this.#calls = calls;
    this.#delays = new Delays(push);
  }

  /** Activities whose ends have not been pushed yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get delays(): CarriedDelays {
    return this.#delays.carried;
  }

  within(bodies: CancellationScope): void {
    this.#bodies = bodies;
    this.#delays = new Delays(this.#push);
  }

  /** `givenOf`: what a try is given as the run stands now. */
  start(tries: readonly StartEffect[], givenOf: (at: StartEffect) => Given): void {
    this.#inFlight += tries.length;
    for (const at of tries) {
      const { task, index, try: number } = at;
      const ended = (outcome: Extract<RunEvent, { kind: "ended" }>["outcome"]): void => {
        this.#inFlight -= 1;
        this.#own.delete(tryKey(at));
        this.#push({ kind: "ended", task, index, try: number, outcome });
      };
      const run = () => runTry(this.#info, tryTaskOf(this.#plan, task), at, givenOf(at));
      this.#within(task, () => this.#byItself(at, run)).then(
        ({ outcome, granted }) => {
          this.#onGranted(granted);
          ended(outcome);
        },
        (error: unknown) => ended(outcomeOfFailure(error)),
      );
    }
  }

  /** Asks all bodies of the run to stop, but for those of teardowns; their ends follow. No delay is waited for either. */
  stop(): void {
    this.#bodies?.cancel();
  }

  /**
   * Asks one try to stop, in Temporal too: one that no worker has taken up ends at once. A worker hears of it by the
   * database, sooner.
   */
  stopOne(at: AtTry): void {
    this.#own.get(tryKey(at))?.cancel();
  }

  /** In a scope of its own where nobody may ever take it up: each costs three promises. */
  #byItself(at: AtTry, run: () => Promise<TaskResult>): Promise<TaskResult> {
    if (this.#plan.tasks[at.task]!.queue === RUNS_QUEUE) return run();
    const scope = new CancellationScope({ cancellable: true });
    this.#own.set(tryKey(at), scope);
    return scope.run(run);
  }

  /** What a teardown does is not stopped with the run. */
  #within<T>(task: number, work: () => Promise<T>): Promise<T> {
    return this.#plan.tasks[task]!.teardown === undefined ? work() : this.#calls.run(work);
  }

  wait({ task, index, try: number, delayMs }: WaitEffect): void {
    this.#delay(delayMs, { kind: "due", task, index, try: number });
  }

  /** Something that happens to the run after a while, unless it is over or stopped by then. */
  rest(delayMs: number, event: RunEvent): void {
    this.#delay(delayMs, event);
  }

  /** What waited in the execution before. */
  goOn(delays: CarriedDelays): void {
    const isTeardown = (event: RunEvent): boolean =>
      event.kind === "due" && this.#plan.tasks[event.task]!.teardown !== undefined;
    this.#delays.goOn(delays, isTeardown, (event, work) => this.#scoped(event, work));
  }

  #scoped(event: RunEvent, work: () => Promise<void>): Promise<void> {
    return event.kind === "due" ? this.#within(event.task, work) : work();
  }

  #delay(delayMs: number, event: RunEvent): void {
    this.#delays.begin(delayMs, event, (work) => this.#scoped(event, work));
  }

  /** Nothing that still waits may outlive the run. */
  end(): void {
    if (this.#delays.any) this.#bodies?.cancel();
  }
}
