/** Delay before a retry (A5, K34). All in ms; `retry` counts from 1. Pure: jitter comes in as a number in [0, 1). */
export interface RetryPolicy {
  readonly retryDelayMs: number;
  readonly retryFactor: number;
  readonly retryMaxDelayMs: number | null;
}

/** No cap still means a finite delay: a year. */
const LONGEST_DELAY_MS = 365 * 24 * 3_600_000;

export function retryDelayMs(policy: RetryPolicy, retry: number): number {
  const cap = Math.min(policy.retryMaxDelayMs ?? LONGEST_DELAY_MS, LONGEST_DELAY_MS);
  if (policy.retryDelayMs <= 0) return 0;
  // The power overflows to Infinity at about retry 1,000; min() brings it back, since the delay is not 0.
  return Math.round(Math.min(policy.retryDelayMs * policy.retryFactor ** Math.max(0, retry - 1), cap));
}
