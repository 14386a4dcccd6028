import type { WorkerOptions } from "@temporalio/worker";

/** The worker settings both contestants run with, so that a ratio compares paths and not settings. */
export const workerTuning = {
  maxConcurrentWorkflowTaskExecutions: 100,
  maxConcurrentWorkflowTaskPolls: 10,
  maxConcurrentActivityTaskExecutions: 200,
  maxConcurrentActivityTaskPolls: 10,
  maxConcurrentLocalActivityExecutions: 200,
  maxCachedWorkflows: 1_000,
} satisfies Partial<WorkerOptions>;
