import type { Grant, SlotRequest } from "../activities/types.ts";
import type { RecordEffect } from "../core/progress.ts";

/**
 * Decisions that may wait for the next call; more are written down at once. With the outputs that travel in results (1 kB
 * at the most) they stay far below the 2 MB of an activity's input, which they become when the database is away.
 */
export const PENDING_LIMIT = 200;

/** What is to be done outside. */
export interface Wanted {
  requests: SlotRequest[];
  /** Tries without a body that begin to wait. */
  waits: Grant[];
  /** Tries that are to stop by hand. */
  stops: Grant[];
  /** All that runs is to stop. */
  stop: boolean;
  mustSettle: boolean;
}

/**
 * The worker wrote these itself when the try ended, before Temporal knew of it: the run repeats them with its next
 * decision and need not wake the database for them alone.
 */
export function isKnownAlready(effect: RecordEffect): boolean {
  return effect.ended !== null && (effect.state === "success" || effect.state === "skipped");
}

export const nothing = (): Wanted => ({ requests: [], waits: [], stops: [], stop: false, mustSettle: false });
