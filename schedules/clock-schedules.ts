import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy, type Client } from "@temporalio/client";
import type { ClockInput } from "../workflows/messages.ts";

/** Id of a clock Schedule (`meridian-clock-0` …). Pausing them in Temporal Web stops all creation of runs. */
export const clockScheduleId = (taskQueue: string, shard: number): string => `${taskQueue}-clock-${shard}`;

/**
 * Keeps the clock Schedules in place (design 5): each minute on the minute they start a `clock` workflow per shard.
 * Idempotent; surplus ones of an earlier, larger setting are deleted. A paused one stays paused.
 */
export async function ensureClockSchedules(temporal: Client, taskQueue: string, shards: number): Promise<void> {
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
      await temporal.schedule.getHandle(clockScheduleId(taskQueue, shard)).update((current) => ({ ...options, state: current.state }));
    }
  }
  for (let shard = shards; ; shard++) {
    try {
      await temporal.schedule.getHandle(clockScheduleId(taskQueue, shard)).delete();
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return;
      throw error;
    }
  }
}
