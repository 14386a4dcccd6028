import type { BodyContext, LogLine } from "../../core/body.ts";

/** What passes between the runner and a place where bodies run: a shared thread or a child process. */
export type ToHost =
  /** First of all messages. Connections come this way, so that no dump of start-up data shows them. */
  | {
      readonly t: "start";
      readonly codeFolder: string;
      readonly connections: Readonly<Record<string, string>>;
    }
  | {
      readonly t: "run";
      readonly n: number;
      /** File URL of the bundle. */
      readonly bundle: string;
      /** JSON of `JobText`: cheaper than a structured clone, and never an exotic value. */
      readonly job: string;
      /** Say `started` when the body begins: its execution time-out counts from there. */
      readonly timed: boolean;
    }
  | { readonly t: "abort"; readonly n: number; readonly reason: string }
  /** To a child process whose body has ended. */
  | { readonly t: "exit" };

export interface JobText {
  readonly context: BodyContext;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export type FromHost =
  | { readonly t: "ready" }
  | { readonly t: "started"; readonly n: number }
  | { readonly t: "lines"; readonly n: number; readonly lines: readonly LogLine[]; readonly size: number }
  /** `outcome` is the JSON text of a `BodyOutcome`. */
  | { readonly t: "end"; readonly n: number; readonly outcome: string }
  /** Something in this thread went wrong in a way that may linger: give it no new bodies, end it when idle. */
  | { readonly t: "retire"; readonly reason: string };

/** Cells of the `Int32Array` a thread shares with the runner. */
export const CELL = {
  /** Raised by a timer in the thread; stands still while its event loop does not turn. */
  ticks: 0,
  /** How many `run` messages the thread has taken. */
  taken: 1,
  /** The body whose first synchronous part is being run now; 0: none or unknown. */
  current: 2,
  /** Characters of log text posted, and handled by the runner: the difference is what waits. */
  posted: 3,
  handled: 4,
  /** Heap in use by the thread, MB. */
  heapMb: 5,
} as const;
export const CELLS = 8;

export const TICK_MS = 250;

/** What a thread is started with. */
export interface ThreadData {
  readonly cells: SharedArrayBuffer;
}
