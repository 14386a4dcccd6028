/** What passes between a run, the worker and a task body; plain data. */

import type { Measured } from "./mapping.ts";
import type { Deferral } from "./waits.ts";

/** What a body is told about itself; plain data, sent to the thread. Instants are ISO text. */
export interface BodyContext {
  readonly dagId: string;
  readonly runId: string;
  readonly run: number;
  readonly runType: string;
  readonly taskId: string;
  /** -1: not mapped. */
  readonly mapIndex: number;
  readonly try: number;
  readonly maxTries: number;
  readonly logicalDate: string;
  readonly dataInterval: { readonly start: string; readonly end: string };
  /** Calendar date of the interval start in the DAG's zone (P4). */
  readonly ds: string;
  readonly zone: string;
  readonly conf: Readonly<Record<string, unknown>>;
  /** What ended the wait that this try began before, and what it kept over it; left out: it begins. */
  readonly resumed?: { readonly payload: unknown; readonly state: unknown };
  /** Addresses of the DAG's waits that somebody is to end, by task id; left out: there are none. */
  readonly waitUrls?: Readonly<Record<string, string>>;
}

/** A line of a try's log. `at` in epoch ms. */
export interface LogLine {
  readonly at: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly text: string;
}

export interface BodyError {
  /** Name of the error class, or a code of ours. */
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
  /** false: fail at once, whatever the retries. */
  readonly retryable: boolean;
  /** The error names its own delay before the next try. */
  readonly retryDelayMs?: number;
  /** The next try uses up no retry. */
  readonly waits?: boolean;
}

/** A value too large for the database: its JSON in the object store. */
export interface StoredValue {
  readonly key: string;
  readonly bytes: number;
}

export type BodyOutcome =
  | {
      readonly kind: "success";
      readonly output: unknown;
      /** A large output: its JSON is in this file of the runner's spool folder, and `output` is null. */
      readonly spooled?: { readonly file: string; readonly bytes: number };
      /** Of a task that decides: ids of what follows among its direct downstream; of a short circuit empty: nothing does. */
      readonly follow?: readonly string[];
      /** Of an output that tasks are mapped over. */
      readonly measured?: Measured;
    }
  | { readonly kind: "skipped"; readonly message: string }
  /** The try goes on waiting, without a slot. */
  | { readonly kind: "deferred"; readonly deferral: Deferral }
  | { readonly kind: "failed"; readonly error: BodyError }
  | { readonly kind: "timed_out"; readonly error: BodyError }
  /** Stopped because `signal` was aborted. */
  | { readonly kind: "cancelled"; readonly message: string }
  /** Through no fault of its own (its thread was ended, the worker drains): to be run again, no retry used up. */
  | { readonly kind: "requeued"; readonly message: string };
