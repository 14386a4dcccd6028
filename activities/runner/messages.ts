import type { BodyContext, LogLine } from "../../core/body.ts";
import type { AskedOfOutput } from "../../core/decision.ts";
import type { FileInput } from "./types.ts";

/** What passes between the runner and a place where bodies run: a shared thread or a child process. */
export type ToHost =
  /** First of all messages. Connections come this way, so that no dump of start-up data shows them. */
  | {
      readonly t: "start";
      readonly codeFolder: string;
      readonly spoolFolder: string;
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
  readonly inputs: Record<string, unknown>;
  /** Inputs too large for a message. */
  readonly inputFiles: Readonly<Record<string, FileInput>>;
  readonly asked: AskedOfOutput;
  /** Say `label` when it has one. */
  readonly labelled: boolean;
}

export type FromHost =
  | { readonly t: "ready" }
  | { readonly t: "started"; readonly n: number }
  | { readonly t: "label"; readonly n: number; readonly label: string }
  | { readonly t: "lines"; readonly n: number; readonly lines: readonly LogLine[]; readonly size: number }
  /** `outcome` is the JSON text of a `BodyOutcome`. */
  | { readonly t: "end"; readonly n: number; readonly outcome: string }
  /** Something in this thread went wrong in a way that may linger: give it no new bodies, end it when idle. */
  | { readonly t: "retire"; readonly reason: string };

export function isFromHost(message: unknown): message is FromHost {
  if (typeof message !== "object" || message === null) return false;
  const { t, n, lines, outcome, reason, label } = message as Readonly<Record<string, unknown>>;
  if (t === "ready") return true;
  if (t === "retire") return typeof reason === "string";
  if (typeof n !== "number") return false;
  return (
    t === "started" ||
    (t === "lines" && Array.isArray(lines)) ||
    (t === "label" && typeof label === "string") ||
    (t === "end" && typeof outcome === "string")
  );
}

/** Why a thread or process ended by itself. */
export interface Ended {
  readonly code: "out_of_memory" | "process_exit" | "killed" | "crashed";
  readonly message: string;
}

/** What a look at a thread tells. */
export interface Vitals {
  /** How long its event loop has stood still. */
  readonly silentMs: number;
  /** How many bodies have reached its code. */
  readonly taken: number;
  /** The body whose first synchronous part is being run, or 0. */
  readonly current: number;
  readonly heapMb: number;
}

/** To the process that holds the threads; `id` names a thread. */
export type ToPool =
  | { readonly t: "open"; readonly id: number; readonly memoryMb: number }
  | { readonly t: "to"; readonly id: number; readonly message: ToHost }
  | { readonly t: "end"; readonly id: number };

export type FromPool =
  | { readonly t: "from"; readonly id: number; readonly message: FromHost }
  | { readonly t: "vitals"; readonly id: number; readonly vitals: Vitals }
  | { readonly t: "ended"; readonly id: number; readonly why: Ended }
  /** The answer to `end`: false when its code could not be stopped in time. */
  | { readonly t: "stopped"; readonly id: number; readonly ok: boolean };

/** Cells of the `Int32Array` a thread shares with the process around it. */
export const CELL = {
  /** Raised by a timer in the thread; stands still while its event loop does not turn. */
  ticks: 0,
  /** How many `run` messages the thread has taken. */
  taken: 1,
  /** The body whose first synchronous part is being run now; 0: none or unknown. */
  current: 2,
  /** Characters of log text posted, and passed on to the runner: the difference is what waits. */
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
