import { activityInfo } from "@temporalio/activity";
import type { TaskLog } from "./task-log.ts";

export interface BareDeps {
  readonly log: TaskLog;
  /** Starts these workflows of `tasks` parallel no-ops, through the worker's own connection. */
  readonly startRuns: (ids: readonly string[], tasks: number) => Promise<void>;
}

/** The bodies of the plain Temporal workflows, and the one that a clock tick starts runs with. */
export function createBareActivities({ log, startRuns }: BareDeps) {
  const run = () => activityInfo().workflowExecution?.workflowId ?? "";
  return {
    noop: (): Promise<void> => Promise.resolve(log.record(run(), () => undefined)),
    fibo: (n: number): Promise<number> => Promise.resolve(log.record(run(), () => fibonacci(n))),
    startRuns,
  };
}

export type BareActivities = ReturnType<typeof createBareActivities>;

/** Naive on purpose: it is the load. */
function fibonacci(n: number): number {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
