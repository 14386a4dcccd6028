import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
} from "@temporalio/client";
import type { ClockInput } from "../workflows/messages.ts";

/** Id of a clock Schedule (`meridian-clock-0` …). Pausing them in Temporal Web stops all creation of runs. */
export const clockScheduleId = (taskQueue: string, shard: number): string => `${taskQueue}-clock-${shard}`;

/**
 * Keeps the clock Schedules in place (design 5): each minute on the minute they start a `clock` workflow per shard.
 * Idempotent; surplus ones of an earlier, larger setting are deleted. A paused one stays paused.
 */
export async function ensureClockSchedules(
  temporal: Client,
  taskQueue: string,
  shards: number,
): Promise<void> {
  for (let shard = 0; shard < shards; shard++) {
    const args: [ClockInput] = [{ shard, shards }];
    const options = {
      spec: { intervals: [{ every: "1m" as const }] },
      action: {
        type: "startWorkflow" as const,
        workflowType: "clock",
        workflowId: `${taskQueue}-clock.${shard}`,
        taskQueue,
        args,
      },
      // A tick that comes while the last one works, or never, loses nothing: the cursors decide.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: "1m" as const },
    };
    try {
      await temporal.schedule.create({ scheduleId: clockScheduleId(taskQueue, shard), ...options });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await temporal.schedule
        .getHandle(clockScheduleId(taskQueue, shard))
        .update((current) => ({ ...options, state: current.state }));
    }
  }
  await deleteFrom(temporal, taskQueue, shards);
}

/** The highest goes first, so that whoever stops in the middle leaves no gap behind which the rest would be missed. */
async function deleteFrom(temporal: Client, taskQueue: string, shards: number): Promise<void> {
  const handleOf = (shard: number) => temporal.schedule.getHandle(clockScheduleId(taskQueue, shard));
  let end = shards;
  while (await isThere(async () => await handleOf(end).describe())) end += 1;
  for (let shard = end - 1; shard >= shards; shard--) {
    await isThere(async () => await handleOf(shard).delete());
  }
}

async function isThere(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}
