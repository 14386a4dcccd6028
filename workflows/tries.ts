import { ActivityCancellationType, type ActivityOptions, proxyActivities, sleep } from "@temporalio/workflow";
import type { RunInfo, TaskActivities, TaskResult } from "../activities/types.ts";
import { taskQueueOf } from "../core/ids.ts";
import type { RunEvent, RunPlan } from "../core/run.ts";
import { outcomeOfFailure } from "./try-outcome.ts";

/**
 * Temporal wants an upper bound for each activity. It is no try's time-out: that counts the body alone and is the worker's
 * to keep, while an activity also waits for its inputs, a thread and its records, for as long as the database is away.
 */
const LONGEST_TRY_MS = 365 * 24 * 3_600_000;

const { runTask } = proxyActivities<TaskActivities>({ startToCloseTimeout: LONGEST_TRY_MS });

/**
 * The tries in flight of one run, and the delays between tries. Each end is pushed into the run's inbox. All of it runs
 * in the scope that the run is in, and is never waited for here: each end is its own event.
 */
export class Tries {
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #push: (event: RunEvent) => void;
  readonly #onGranted: (taskIds: readonly string[]) => void;
  readonly #cancel: () => void;
  #delays = 0;
  #stopped = false;

  /**
   * `onGranted`: tasks whose slots came with the end of a try; told before that end is pushed.
   * `cancel`: ends everything in the scope.
   */
  constructor(
    plan: RunPlan,
    info: RunInfo,
    push: (event: RunEvent) => void,
    onGranted: (taskIds: readonly string[]) => void,
    cancel: () => void,
  ) {
    this.#plan = plan;
    this.#info = info;
    this.#push = push;
    this.#onGranted = onGranted;
    this.#cancel = cancel;
  }

  start(tries: readonly { readonly task: number; readonly try: number }[]): void {
    for (const { task, try: number } of tries) {
      this.#runTask(task, number).then(
        ({ outcome, granted }) => {
          this.#onGranted(granted);
          this.#push({ kind: "ended", task, try: number, outcome });
        },
        (error: unknown) =>
          this.#push({ kind: "ended", task, try: number, outcome: outcomeOfFailure(error) }),
      );
    }
  }

  /** Asks all bodies of the run to stop; their ends follow. A stopped run waits for no delay either. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  wait(task: number, number: number, delayMs: number): void {
    this.#delays += 1;
    sleep(delayMs).then(
      () => {
        this.#delays -= 1;
        this.#push({ kind: "due", task, try: number });
      },
      () => undefined,
    );
  }

  /** Nothing that still waits may outlive the run. */
  end(): void {
    if (this.#delays > 0) this.#cancel();
  }

  #runTask(position: number, number: number): Promise<TaskResult> {
    const task = this.#plan.tasks[position]!;
    const inputs: Record<string, string> = {};
    for (const [name, upstream] of Object.entries(task.inputs)) inputs[name] = this.#plan.tasks[upstream]!.id;
    const options: ActivityOptions = {
      activityId: `${task.id}.${number}`,
      taskQueue: taskQueueOf(this.#info.taskQueue, task.queue),
      heartbeatTimeout: this.#info.lostAfterMs,
      // A try is an activity with one attempt: the run numbers, delays and records tries itself.
      retry: { maximumAttempts: 1 },
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: number === 1 ? task.id : `${task.id} try ${number}`,
    };
    return runTask.executeWithOptions(options, [
      {
        info: this.#info,
        taskId: task.id,
        mapIndex: -1,
        try: number,
        maxTries: task.retries + 1,
        inputs,
        executionTimeoutMs: task.executionTimeoutMs,
        isolation: task.isolation,
      },
    ]);
  }
}
