import type { WorkerOptions } from "@temporalio/worker";
import type { Config } from "../platform/config.ts";

/** How a worker process is set; the benches give bare Temporal the same. */
export function workerTuning(config: Pick<Config, "activities" | "cachedRuns">) {
  return {
    maxConcurrentWorkflowTaskExecutions: 100,
    // 4 pollers instead of 10 cost a third of the throughput of a burst.
    maxConcurrentWorkflowTaskPolls: 10,
    maxConcurrentActivityTaskExecutions: config.activities,
    maxConcurrentActivityTaskPolls: 10,
    maxConcurrentLocalActivityExecutions: 200,
    // A wide fan-out is started with its workflow task. The default of 3 costs a dispatch for each other task
    // (measured on bare Temporal: 100 activities 62 → 87 tasks/s, CPU 16.8 → 11.3 ms a task).
    maxEagerActivityReservationsPerWorkflowTask: config.activities,
    maxCachedWorkflows: config.cachedRuns,
    // A stop request reaches a body with the next beat; the beats themselves are a third of the lost time apart.
    maxHeartbeatThrottleInterval: "1s",
    defaultHeartbeatThrottleInterval: "1s",
  } satisfies Partial<WorkerOptions>;
}
