/** What bounds the account book beside pools: classes, tenants, the emergency dial. */

/** 0 best effort, 1 standard, 2 critical: of a workload, not of a tenant. */
export type ClassNumber = 0 | 1 | 2;
export const CLASS_NAMES = ["best_effort", "standard", "critical"] as const;

/** Of whom a run is, and how much it matters. */
export interface Standing {
  /** null: of no tenant. */
  readonly tenant: string | null;
  readonly class: ClassNumber;
  /** Slots of the tenant's own; 1 without one. */
  readonly share: number;
}

/**
 * While somebody of a lower class waits in a pool, one slot in so many goes to it, however much of the higher ones waits:
 * the minimum share of the lowest class, and of backfills, which are of it.
 */
export const MIN_SHARE = 10;

/** Recent use counts by half after this time, by a quarter after twice as long. */
export const USE_HALF_LIFE_MS = 3_600_000;

/** The emergency dial (B16). Null: no such bound. */
export interface Dial {
  readonly tries: number | null;
  readonly belowClass: ClassNumber | null;
  readonly belowPriority: number | null;
  readonly who: string;
  readonly reason: string;
}
