import type { Workload } from "./workloads.ts";

/** Where a contestant finds the servers, and what it will be asked to run (so that it can prepare). */
export interface BenchEnv {
  readonly temporalAddress: string;
  readonly namespace: string;
  /** A database of the contestant's own on the shared Postgres; made, empty. */
  readonly databaseUrl: string;
  readonly workloads: readonly Workload[];
}

/** When a body ran, in milliseconds since the epoch, by the clock of the worker that ran it. */
export interface TaskTime {
  readonly run: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * One repetition. `t0`: just before the trigger was sent, or the instant a clock run was due; `end`: when the
 * driver knew the last run to be done. Figures are derived from this in one place for all contestants.
 */
export interface Sample {
  readonly t0: number;
  readonly end: number;
  readonly tasks: readonly TaskTime[];
}

/**
 * One way of running the workloads. It lives in a process of its own that is both the worker and the client that
 * triggers, so that it may start workflows eagerly.
 */
export interface Contestant {
  readonly name: ContestantName;
  setUp(env: BenchEnv): Promise<void>;
  /** Runs one repetition and returns only when every run of it is closed. */
  run(workload: Workload): Promise<Sample>;
  tearDown(): Promise<void>;
}

export type ContestantName = "bare" | "ours";

/** The clock of all samples: epoch milliseconds with fractions. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
