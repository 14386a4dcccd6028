import type { RunInfo } from "../activities/types.ts";
import type { PackedProgress } from "../core/packed.ts";
import type { CarriedDelays } from "./delays.ts";

/** What one execution of a run hands to the next, when it continues as new: all that is under way then. Plain JSON. */
export interface Carried {
  readonly info: RunInfo;
  readonly progress: PackedProgress;
  /** Tries that have their slots and have not begun. */
  readonly starts: readonly CarriedTry[];
  /** Positions of tasks that have their slots before the run asks. */
  readonly ahead: readonly number[];
  readonly delays: CarriedDelays;
  readonly parts: CarriedParts;
  /** It was cancelled in Temporal, and says so in the end. */
  readonly cancelled: boolean;
}

/** Its parts: the number of the latest, and which have tries under way; how many each was given in all. */
export interface CarriedParts {
  readonly last: number;
  readonly open: readonly {
    readonly number: number;
    readonly given: number;
    readonly tries: readonly CarriedTry[];
  }[];
}

/** 20,000 of them must fit. */
export type CarriedTry = readonly [task: number, index: number, number: number];
