import type { Grant, RunInfo } from "../activities/types.ts";
import type { RunPlan } from "../core/plan.ts";
import type { Effect, RunProgress } from "../core/progress.ts";
import type { Remapped } from "../core/remap.ts";
import type { Carried } from "./carried.ts";

/** A run as it opens: its plan, and where it stands. */
export interface OpenRun {
  readonly plan: RunPlan;
  readonly info: RunInfo;
  readonly progress: RunProgress;
  /** Of its first step; what they ask for has been asked for. */
  readonly effects: readonly Effect[];
  readonly grants: readonly Grant[];
  /** It is over, and written down so. */
  readonly isClosed: boolean;
  /** What the execution before hands over, where there was one. */
  readonly carried?: Carried;
  /** It is over, and here in another version than it had. */
  readonly moved?: Moved;
}

export interface Moved extends Pick<Remapped, "fresh" | "removed" | "records"> {
  /** Number of its latest part. */
  readonly lastPart: number;
}
