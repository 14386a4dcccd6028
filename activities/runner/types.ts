import type { BodyContext, BodyOutcome, LogLine } from "../../core/body.ts";
import type { AskedOfOutput } from "../../core/decision.ts";
import type { Pick } from "../../core/mapping.ts";

/** The border between the Temporal worker and the threads in which task bodies run (design 7). */

/** An input in files with JSON: one of them, or what is picked of the list in it; or a list whose items may lie in files. */
export type FileInput =
  | { readonly path: string; readonly pick?: Pick }
  | { readonly parts: readonly ({ readonly value: unknown } | { readonly path: string })[] };

export interface BodyJob {
  readonly bundleHash: string;
  /** ESM text of the bundle; called when this process has not seen the hash yet. */
  readonly loadBundle: (hash: string) => Promise<{ code: string; sourceMap: string | null }>;
  readonly context: BodyContext;
  /** Outputs of the upstreams by input name. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Large outputs of upstreams, by input name. */
  readonly inputFiles?: Readonly<Record<string, FileInput>>;
  /** What is to be told of the output beside itself. */
  readonly asked?: AskedOfOutput;
  readonly executionTimeoutMs: number | null;
  readonly isolation: "shared" | "own";
  /** Of an instance of a mapped task: hears what people are to read beside its index, before the body begins. */
  readonly onLabel?: (label: string) => void;
}

export interface Runner {
  /** Runs one try's body; never throws. `signal` asks it to stop. */
  run(job: BodyJob, signal: AbortSignal, log: (line: LogLine) => void): Promise<BodyOutcome>;
  /** Takes no new bodies; waits up to `graceMs`, then ends the rest as `requeued`. */
  drain(graceMs: number): Promise<void>;
  readonly running: number;
}
