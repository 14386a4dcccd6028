import type { BodyContext, BodyOutcome, LogLine } from "../../core/body.ts";

/** The border between the Temporal worker and the threads in which task bodies run (design 7). */

export interface BodyJob {
  readonly bundleHash: string;
  /** ESM text of the bundle; called when this process has not seen the hash yet. */
  readonly loadBundle: (hash: string) => Promise<{ code: string; sourceMap: string | null }>;
  readonly context: BodyContext;
  /** Outputs of the upstreams by input name. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Large outputs of upstreams: files with their JSON, by input name. */
  readonly inputFiles?: Readonly<Record<string, string>>;
  readonly executionTimeoutMs: number | null;
  readonly isolation: "shared" | "own";
}

export interface Runner {
  /** Runs one try's body; never throws. `signal` asks it to stop. */
  run(job: BodyJob, signal: AbortSignal, log: (line: LogLine) => void): Promise<BodyOutcome>;
  /** Takes no new bodies; waits up to `graceMs`, then ends the rest as `requeued`. */
  drain(graceMs: number): Promise<void>;
  readonly running: number;
}
