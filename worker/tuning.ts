import type { WorkerOptions } from "@temporalio/worker";
import type { Config } from "../platform/config.ts";

/** How a worker process is set; the benches give bare Temporal the same. */
export function workerTuning(config: Pick<Config, "activities" | "cachedRuns">) {
  return {
    maxConcurrentWorkflowTaskExecutions: 100,
    maxConcurrentWorkflowTaskPolls: 10,
    maxConcurrentActivityTaskExecutions: config.activities,
    maxConcurrentActivityTaskPolls: 10,
    maxConcurrentLocalActivityExecutions: 200,
    maxCachedWorkflows: config.cachedRuns,
    // A stop request reaches a body with the next beat; the beats themselves are a third of the lost time apart.
    maxHeartbeatThrottleInterval: "1s",
    defaultHeartbeatThrottleInterval: "1s",
  } satisfies Partial<WorkerOptions>;
}
