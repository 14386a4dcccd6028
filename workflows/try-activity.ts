import { ActivityCancellationType, type ActivityOptions, proxyActivities } from "@temporalio/workflow";
import type { RunInfo, RunTaskInput, TaskActivities, TaskResult } from "../activities/types.ts";
import { taskQueueOf } from "../core/ids.ts";
import { askedOf, type RunPlan } from "../core/plan.ts";
import type { AtTry } from "../core/progress.ts";

/**
 * Temporal wants an upper bound for each activity. It is no try's time-out: that counts the body alone and is the worker's
 * to keep, while an activity also waits for its inputs, a thread and its records, for as long as the database is away.
 */
const LONGEST_TRY_MS = 365 * 24 * 3_600_000;

const { runTask } = proxyActivities<TaskActivities>({ startToCloseTimeout: LONGEST_TRY_MS });

/** What a try is given as its run stands: where its inputs come from, and how it goes on. */
export type Given = Pick<RunTaskInput, "inputs" | "waitBy" | "resumed" | "afterLost">;

/** What is the same for all tries of a task. */
export interface TryTask extends Pick<
  RunTaskInput,
  "taskId" | "maxTries" | "asked" | "executionTimeoutMs" | "isolation" | "refused"
> {
  readonly queue: string;
  /** What it does is not stopped with the run. */
  readonly isTeardown: boolean;
}

export function tryTaskOf(plan: RunPlan, position: number): TryTask {
  const task = plan.tasks[position]!;
  return {
    taskId: task.id,
    maxTries: task.retries + 1,
    ...askedOf(plan, position),
    executionTimeoutMs: task.executionTimeoutMs,
    isolation: task.isolation,
    ...(task.refused !== undefined && { refused: task.refused }),
    queue: task.queue,
    isTeardown: task.teardown !== undefined,
  };
}

/** One text for each try of a run. */
export const tryKey = ({ task, index, try: number }: AtTry): string => `${task} ${index} ${number}`;

/** A try as an activity: the same from a run and from a part of it. */
export function runTry(
  info: RunInfo,
  { taskId, maxTries, asked, executionTimeoutMs, isolation, refused, queue }: TryTask,
  { index, try: number }: { readonly index: number; readonly try: number },
  given: Given,
): Promise<TaskResult> {
  const name = index < 0 ? taskId : `${taskId}[${index}]`;
  const options: ActivityOptions = {
    activityId: `${name}.${number}`,
    taskQueue: taskQueueOf(info.taskQueue, queue),
    heartbeatTimeout: info.lostAfterMs,
    // A try is an activity with one attempt: the run numbers, delays and records tries itself.
    retry: { maximumAttempts: 1 },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: number === 1 ? name : `${name} try ${number}`,
  };
  return runTask.executeWithOptions(options, [
    {
      info,
      taskId,
      mapIndex: index,
      try: number,
      maxTries,
      ...given,
      ...(asked !== undefined && { asked }),
      executionTimeoutMs,
      isolation,
      ...(refused !== undefined && { refused }),
    },
  ]);
}
