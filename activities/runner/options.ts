import type { LogLine } from "../../core/body.ts";

export interface RunnerOptions {
  /** Shared threads kept ready. */
  readonly threads: number;
  /** Where bundles lie as files; inside the project, so that packages resolve. */
  readonly codeFolder: string;
  /** Where bodies leave large outputs for the worker to take. Default: `spool` in the code folder. */
  readonly spoolFolder?: string;
  /** Values by lower-case name. */
  readonly connections: Readonly<Record<string, string>>;
  /** A thread silent for longer, with several bodies on it, is ended. Default 10 s. */
  readonly blockedAfterMs?: number;
  /** From the abort signal to the end of the thread. Default 5 s. */
  readonly killGraceMs?: number;
  /** Heap of a shared thread. Default 1,024 MB. */
  readonly threadMemoryMb?: number;
  /** Heap of a body with a process of its own. Default 1,024 MB. */
  readonly ownMemoryMb?: number;
  /** Code cannot be unloaded: a thread is replaced after so many bundles. Default 500. */
  readonly bundlesPerThread?: number;
  /** Processes at once for `isolation: "own"`; more wait. Default 32. */
  readonly processes?: number;
  /** The runner's own log, not a try's. */
  readonly log: (line: LogLine) => void;
}
