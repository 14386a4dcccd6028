import type { Decision } from "../activities/types.ts";

/** Rows of one call: it is one statement, and is to take far less than its 2 s. */
export const ROWS = 2_000;

/**
 * Of decisions in one call, roughly, as JSON: half of what Temporal takes, since the call becomes an ordinary activity when
 * the database is away.
 */
const BYTES = 1_000_000;

/** How many of the first decisions go into one call: at least one. */
export function pieceOf(decisions: readonly Decision[]): number {
  let bytes = 0;
  for (let count = 0; count < decisions.length && count < ROWS; count++) {
    bytes += sizeOf(decisions[count]!);
    if (bytes > BYTES && count > 0) return count;
  }
  return Math.min(decisions.length, ROWS);
}

function sizeOf({ taskId, ended }: Decision): number {
  const bare = 100 + taskId.length;
  if (ended === null) return bare;
  const { outcome } = ended;
  if ("error" in outcome) return bare + outcome.error.message.length + (outcome.error.stack?.length ?? 0);
  // A larger output does not travel (activities/run-task.ts).
  return bare + ("message" in outcome ? outcome.message.length : 1024);
}
