/** What follows a failed try (A5): a table of the task's rules, the error's own word, and the retries left. Pure. */
import { retryDelayMs, type RetryPolicy } from "./backoff.ts";
import type { BodyError } from "./body.ts";

/** What a task does about errors of one kind. */
export interface RetryRule {
  /** Name of the error class, or a code; `*`: any. */
  readonly error: string;
  /** `wait`: another try after the delay that uses up no retry. */
  readonly action: "retry" | "fail" | "wait";
  /** In place of the task's own delay, ms. */
  readonly delayMs?: number;
}

export interface TryPolicy extends RetryPolicy {
  readonly retries: number;
  readonly retryRules?: readonly RetryRule[];
  /** By how much of itself a delay may be shorter, 0 to 1. */
  readonly retryJitter?: number;
}

export type AfterFailure =
  | { readonly kind: "fail" }
  | { readonly kind: "again"; readonly delayMs: number; readonly retries: number };

/**
 * The error's own word outweighs the task's rules, the first of which that fits outweighs its retries.
 * `used`: retries so far; `random` in [0, 1).
 */
export function afterFailure(
  policy: TryPolicy,
  used: number,
  error: BodyError,
  random: number,
): AfterFailure {
  if (!error.retryable) return { kind: "fail" };
  const rule = policy.retryRules?.find((one) => one.error === "*" || one.error === error.code);
  const isFree = error.waits === true || (error.waits === undefined && rule?.action === "wait");
  if (!isFree && error.retryDelayMs === undefined && rule?.action === "fail") return { kind: "fail" };
  if (!isFree && used >= policy.retries) return { kind: "fail" };
  const retries = isFree ? used : used + 1;
  const named = error.retryDelayMs ?? rule?.delayMs;
  const delayMs =
    named ??
    Math.round(retryDelayMs(policy, Math.max(1, retries)) * (1 - (policy.retryJitter ?? 0) * random));
  return { kind: "again", delayMs, retries };
}

/** A number in [0, 1) that is always the same for the same text: replays must decide alike (FNV-1a, 32 bits). */
export function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash ^= text.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193);
  }
  // Its low bits are the good ones.
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return (hash >>> 0) / 2 ** 32;
}
