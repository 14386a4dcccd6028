import { workerTuning as tuningOf } from "../worker/tuning.ts";

/** The settings of Meridian's own worker, for both contestants, so that a ratio compares paths and not settings. */
export const workerTuning = tuningOf({ activities: 500, cachedRuns: 1_000 });
