import {
  ActivityCancellationType,
  type ActivityOptions,
  type CancellationScope,
  proxyActivities,
  sleep,
} from "@temporalio/workflow";
import type { RunInfo, RunTaskInput, TaskActivities, TaskResult } from "../activities/types.ts";
import { taskQueueOf } from "../core/ids.ts";
import { askedOf, type RunPlan } from "../core/plan.ts";
import type { Effect, RunEvent } from "../core/progress.ts";
import { outcomeOfFailure } from "./try-outcome.ts";

/**
 * Temporal wants an upper bound for each activity. It is no try's time-out: that counts the body alone and is the worker's
 * to keep, while an activity also waits for its inputs, a thread and its records, for as long as the database is away.
 */
const LONGEST_TRY_MS = 365 * 24 * 3_600_000;

const { runTask } = proxyActivities<TaskActivities>({ startToCloseTimeout: LONGEST_TRY_MS });

/** What a try is given as its run stands. */
export type Given = Pick<RunTaskInput, "inputs" | "waitBy" | "resumed">;

type StartEffect = Extract<Effect, { kind: "start" }>;
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
  #delays = 0;

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
  }

  within(bodies: CancellationScope): void {
    this.#bodies = bodies;
    this.#delays = 0;
  }

  /** `givenOf`: where the inputs of a cell come from, as the run stands now, and how its try goes on. */
  start(tries: readonly StartEffect[], givenOf: (at: StartEffect) => Given): void {
    for (const at of tries) {
      const { task, index, try: number } = at;
      this.#within(task, () => this.#runTask(at, givenOf(at))).then(
        ({ outcome, granted }) => {
          this.#onGranted(granted);
          this.#push({ kind: "ended", task, index, try: number, outcome });
        },
        (error: unknown) =>
          this.#push({ kind: "ended", task, index, try: number, outcome: outcomeOfFailure(error) }),
      );
    }
  }

  /** Asks all bodies of the run to stop, but for those of teardowns; their ends follow. No delay is waited for either. */
  stop(): void {
    this.#bodies?.cancel();
  }

  /** What a teardown does is not stopped with the run. */
  #within<T>(task: number, work: () => Promise<T>): Promise<T> {
    return this.#plan.tasks[task]!.teardown === undefined ? work() : this.#calls.run(work);
  }

  wait({ task, index, try: number, delayMs }: WaitEffect): void {
    this.#delays += 1;
    this.#within(task, () => sleep(delayMs)).then(
      () => {
        this.#delays -= 1;
        this.#push({ kind: "due", task, index, try: number });
      },
      () => undefined,
    );
  }

  /** Something that happens to the run after a while, unless it is over or stopped by then. */
  rest(delayMs: number, event: RunEvent): void {
    this.#delays += 1;
    sleep(delayMs).then(
      () => {
        this.#delays -= 1;
        this.#push(event);
      },
      () => undefined,
    );
  }

  /** Nothing that still waits may outlive the run. */
  end(): void {
    if (this.#delays > 0) this.#bodies?.cancel();
  }

  #runTask({ task: position, index, try: number }: StartEffect, given: Given): Promise<TaskResult> {
    const task = this.#plan.tasks[position]!;
    const name = index < 0 ? task.id : `${task.id}[${index}]`;
    const options: ActivityOptions = {
      activityId: `${name}.${number}`,
      taskQueue: taskQueueOf(this.#info.taskQueue, task.queue),
      heartbeatTimeout: this.#info.lostAfterMs,
      // A try is an activity with one attempt: the run numbers, delays and records tries itself.
      retry: { maximumAttempts: 1 },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: number === 1 ? name : `${name} try ${number}`,
    };
    return runTask.executeWithOptions(options, [
      {
        info: this.#info,
        taskId: task.id,
        mapIndex: index,
        try: number,
        maxTries: task.retries + 1,
        ...given,
        ...askedOf(this.#plan, position),
        executionTimeoutMs: task.executionTimeoutMs,
        isolation: task.isolation,
      },
    ]);
  }
}
