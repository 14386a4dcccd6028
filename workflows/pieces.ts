import type { TryOutcome } from "../core/progress.ts";

/** Rows of one call: it is one statement, and is to take far less than its 2 s. */
export const ROWS = 2_000;

/**
 * Of one call or signal, roughly, as JSON: half of what Temporal takes. A call is an ordinary activity when the database is
 * away.
 */
const BYTES = 1_000_000;

/** How many of the first items go together: at least one. `outcomeOf`: what is large about an item. */
export function pieceOf<T>(items: readonly T[], outcomeOf: (item: T) => TryOutcome | null): number {
  return countWithin(items, (item) => 200 + sizeOf(outcomeOf(item)));
}

export function countWithin<T>(items: readonly T[], bytesOf: (item: T) => number): number {
  let bytes = 0;
  for (let count = 0; count < items.length && count < ROWS; count++) {
    bytes += bytesOf(items[count]!);
    if (bytes > BYTES && count > 0) return count;
  }
  return Math.min(items.length, ROWS);
}

/** At the most: a letter outside of Latin takes three. */
const bytesOf = (text: string): number => text.length * 3;

function sizeOf(outcome: TryOutcome | null): number {
  if (outcome === null) return 0;
  if ("error" in outcome) return bytesOf(outcome.error.message) + bytesOf(outcome.error.stack ?? "");
  // A larger output does not travel (activities/run-task.ts).
  return "message" in outcome ? bytesOf(outcome.message) : 1024;
}
