/** Where a run stands, what happens to it, and what it then asks for. Plain data. */
import type { BodyError, BodyOutcome } from "./body.ts";
import { NEW_TASK, type RunCell, type TaskProgress } from "./cells.ts";
import type { Measured } from "./mapping.ts";
import type { RunPlan } from "./plan.ts";
import type { RunState, TaskState, TryState } from "./states.ts";
import type { WaitEnd } from "./waits.ts";

/** Plain JSON: it is stored when the run closes and carried over continue-as-new. */
export interface RunProgress {
  /** Number of the last decision recorded. */
  readonly seq: number;
  readonly state: RunState;
  readonly tasks: readonly TaskProgress[];
  /** Cells not done yet. */
  readonly open: number;
  /** The run is being ended before its time: as what, and why. */
  readonly ending: Ending | null;
  /** Of outputs that tasks are mapped over, by position. */
  readonly measured: Readonly<Record<number, Measured>>;
  /** How often it began again as a whole, after it had failed. */
  readonly reruns: number;
  /** It has failed, and rests before it begins again. */
  readonly resting: boolean;
  /** What the latest commands were answered, by their ids: one that comes twice is done once. */
  readonly answers: readonly (readonly [id: string, answer: CommandAnswer])[];
  /** Tasks that its version does not have any more, by their ids: should one come back, its tries go on. */
  readonly removed?: Readonly<Record<string, TaskProgress>>;
}

/** What was done for a command: how many cells it changed, and how many are no more (left out: none). */
export interface CommandAnswer {
  readonly cells: number;
  readonly removed?: number;
}

export interface Ending {
  readonly as: "cancelled" | "failed";
  readonly reason: string;
}

/** What can end a try: the body's own outcome, or the loss of its worker. */
export type TryOutcome = (BodyOutcome | { readonly kind: "lost"; readonly error: BodyError }) & {
  /** Of a sensor's first check: when the sensor's time-out is over, epoch ms. */
  readonly waitBy?: number;
};

/** A cell: a task's position and an instance's index, or -1. */
export interface At {
  readonly task: number;
  readonly index: number;
}

/** No position: a short circuit that does not stop names no task. */
export const ELSEWHERE = -1;

export type AtTry = At & { readonly try: number };

export type RunEvent =
  | { readonly kind: "opened" }
  /** `now`, epoch ms: a sensor's time-out counts from its first. `wait`: it goes on behind that one; left out: it begins. */
  | ({ readonly kind: "granted"; readonly now?: number; readonly wait?: number } & AtTry)
  /** `wait`: it had gone on behind that one; left out: nothing is said of it. */
  | ({ readonly kind: "ended"; readonly outcome: TryOutcome; readonly wait?: number } & AtTry)
  | ({ readonly kind: "due" } & AtTry)
  /** A wait of the try has ended, the `wait`th. */
  | ({ readonly kind: "woken"; readonly wait: number; readonly end: WaitEnd } & AtTry)
  /** The rest is over that a failed run takes before it begins again. */
  | { readonly kind: "rerun"; readonly rerun: number }
  /** Ends the run before its time; teardowns whose setups succeeded run first (K29, K77). */
  | ({ readonly kind: "end" } & Ending)
  /** These cells run again (`core/selection.ts`); an index of -1 means all instances of a mapped task. */
  | { readonly kind: "clear"; readonly cells: readonly At[] }
  | { readonly kind: "mark"; readonly cells: readonly At[]; readonly as: "success" | "failed" | "skipped" };

export type Effect =
  /** Ask for the slots of a try; `wait`: it goes on behind that one. */
  | ({ readonly kind: "request"; readonly wait?: number } & AtTry)
  /** Begin the wait of a task that has no body; its `woken` follows. */
  | ({ readonly kind: "defer" } & AtTry)
  /** Run the body. */
  | ({ readonly kind: "start" } & AtTry)
  /** Send `due` after the delay. */
  | ({ readonly kind: "wait"; readonly delayMs: number } & AtTry)
  /** Ask a running body to stop; its `ended` follows. */
  | ({ readonly kind: "stop" } & AtTry)
  /** Send `rerun` after the delay. */
  | { readonly kind: "rest"; readonly delayMs: number; readonly rerun: number }
  | RecordEffect
  | { readonly kind: "close"; readonly state: RunState };

/** A decision to be written down: the cell's new state and, when a try ended by it, how. */
export type RecordEffect = {
  readonly kind: "record";
  readonly seq: number;
  readonly state: TaskState;
  readonly ended: { readonly state: TryState; readonly outcome: TryOutcome } | null;
} & AtTry;

/** The cell at a place that there is. */
export function cellAt(progress: RunProgress, { task, index }: At): RunCell {
  const { own, instances } = progress.tasks[task]!;
  return index < 0 ? own : instances![index]!;
}

export function newProgress(plan: RunPlan): RunProgress {
  return {
    seq: 0,
    state: "running",
    tasks: plan.tasks.map(() => NEW_TASK),
    open: plan.tasks.length,
    ending: null,
    measured: {},
    reruns: 0,
    resting: false,
    answers: [],
  };
}

/** A closed run that is to be looked at again, for a command. */
export const reopened = (progress: RunProgress): RunProgress => ({
  ...progress,
  reruns: 0,
  state: "running",
  ending: null,
});
