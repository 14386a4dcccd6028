import type { Priority } from "@temporalio/common";
import type { Standing } from "../core/limits.ts";

/** Temporal's keys, 1 to 5, of which 3 is what has none. */
const KEYS = [5, 3, 1] as const;
/** Temporal takes weights from 0.001 to 1,000, and keys of up to 64 bytes. */
const HEAVIEST = 1_000;
const LONGEST = 64;

/**
 * In which order task queues give out what belongs to a run: its class, and between tenants by their shares. Its activities
 * have it from the workflow. No ceiling rests on it (design 4); it only agrees with the account book.
 */
export function priorityOf({ tenant, class: own, share }: Standing): Priority {
  return {
    priorityKey: KEYS[own],
    ...(tenant !== null &&
      Buffer.byteLength(tenant) <= LONGEST && {
        fairnessKey: tenant,
        fairnessWeight: Math.min(HEAVIEST, Math.max(1, share)),
      }),
  };
}
