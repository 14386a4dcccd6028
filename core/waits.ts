/** What a task waits for without a slot, a worker or an activity (A6): a row in the database stands for it. Plain data. */

import type { BodyError } from "./body.ts";
import type { Measured } from "./mapping.ts";

/** No instant is later: what would be counts as then. */
const LATEST_AT = Date.UTC(9999, 11, 31);

/** No wait is longer, and no rest between two checks: a hundred years. */
export const LONGEST_MS = 36_525 * 86_400_000;

/** Epoch ms, so long after `at`. */
export const after = (at: number, ms: number): number => Math.min(at + ms, LATEST_AT);

/** How long a wait may last, and what then. */
interface Bounded {
  /** From its beginning, over retries and lost workers (P6), ms; null: for ever. */
  readonly timeoutMs: number | null;
  /** It is skipped then, where it would have failed. */
  readonly softFail?: true;
}

/** The body checks whether it is time; after its first no it is asked again every `everyMs`. */
export interface SerialSensor extends Bounded {
  readonly kind: "sensor";
  readonly everyMs: number;
}

/** Somebody ends it: by its address, the API, the client or the command line. */
export interface SerialEvent extends Bounded {
  readonly kind: "event";
  /** JSON Schema of what it may be ended with; null: anything. */
  readonly payload: Readonly<Record<string, unknown>> | null;
}

/** An instant, as the run begins to wait. Exactly one of the three is set. */
export interface SerialUntil {
  readonly kind: "until";
  /** So long after the end of the run's data interval, ms. */
  readonly delayMs?: number;
  /** Wall time `HH:MM` or `HH:MM:SS` in the DAG's zone, on the day on which the data interval ends. */
  readonly time?: string;
  /** A text with `{{ … }}` that comes out as an ISO instant. */
  readonly at?: string;
}

/** A run of another DAG, or a task in it, has come to an end. */
export interface SerialOther extends Bounded {
  readonly kind: "run";
  readonly dagId: string;
  /** Null: the run as a whole. */
  readonly taskId: string | null;
  /** Its logical date is so much before this run's, ms. */
  readonly beforeMs: number;
  /** In place of `beforeMs`: a text with `{{ … }}` that comes out as its logical date. */
  readonly logicalDate?: string;
  readonly everyMs: number;
}

export type SerialWait = SerialSensor | SerialEvent | SerialUntil | SerialOther;

/** What a run needs of it: the rest is read where the wait is made. */
export interface RunWait {
  readonly kind: SerialWait["kind"];
  readonly timeoutMs?: number | null;
  readonly softFail?: true;
}

export function runWaitOf({ kind, timeoutMs, softFail }: RunWait): RunWait {
  return {
    kind,
    ...(typeof timeoutMs === "number" && { timeoutMs }),
    ...(softFail === true && { softFail: true }),
  };
}

/** A wait that has no body: it begins without a slot. */
export const isBodyless = (wait: RunWait | undefined): boolean =>
  wait !== undefined && wait.kind !== "sensor";

/** What a body asks to be woken by. */
export type Deferral =
  /** Its next check. */
  | { readonly on: "poke" }
  /** Somebody ends it. */
  | { readonly on: "event"; readonly timeoutMs: number | null; readonly state?: unknown }
  /** Epoch ms. */
  | { readonly on: "time"; readonly at: number; readonly state?: unknown };

/** What is said of one that has run out. */
export const LATE = "what it waits for did not come within its timeout";

/** How a wait ended, as its run is told. */
export type WaitEnd =
  /** The task has done so; what it gives is kept already. `measured`: of an output that tasks are mapped over. */
  | { readonly kind: "success"; readonly measured?: Measured }
  /** The body goes on, in the same try. */
  | { readonly kind: "resume" }
  /** Its own time-out. */
  | { readonly kind: "expired"; readonly message: string }
  /** Its try's execution time-out. */
  | { readonly kind: "timed_out"; readonly message: string }
  | { readonly kind: "skipped"; readonly message: string }
  | { readonly kind: "failed"; readonly error: BodyError };
