import type { TaskState } from "./states.ts";

/**
 * Trigger rules (A4, K24): from the states of a task's upstreams to what happens to the task.
 * Each rule is a pure function of counts, so a fan-in costs no list per evaluation.
 */
export const TRIGGER_RULES = [
  "all_success",
  "all_failed",
  "all_done",
  "one_success",
  "one_failed",
  "one_done",
  "none_failed",
  "none_failed_min_one_success",
  "none_skipped",
  "all_skipped",
  "all_done_min_one_success",
  "always",
] as const;
export type TriggerRule = (typeof TRIGGER_RULES)[number];

/** `wait`: not decided yet; `run`, `skip`; `fail`: the task becomes upstream_failed. */
export type RuleAnswer = "wait" | "run" | "skip" | "fail";

/** Counts over a task's upstreams; removed ones are not counted at all. */
export interface UpstreamCounts {
  readonly total: number;
  readonly success: number;
  /** Failed or cancelled. */
  readonly failed: number;
  readonly upstreamFailed: number;
  readonly skipped: number;
}

type Rule = (c: UpstreamCounts) => RuleAnswer;

const bad = (c: UpstreamCounts): number => c.failed + c.upstreamFailed;
const pending = (c: UpstreamCounts): boolean => c.success + c.skipped + bad(c) < c.total;
/** All done and the rule not met: a failed upstream outweighs a skipped one (P7). */
const missed = (c: UpstreamCounts): RuleAnswer => (bad(c) > 0 ? "fail" : "skip");

/**
 * `one_*` rules answer on the first fitting upstream. A rule that can only be failed by what has ended already
 * answers at once; a skip waits for all, since a later failure outweighs it (P7).
 * `all_done_min_one_success` (ours): waits for all, a skipped upstream counts for nothing, one success is enough.
 */
const RULES = {
  all_success: (c) => (bad(c) > 0 ? "fail" : pending(c) ? "wait" : c.skipped > 0 ? "skip" : "run"),
  all_failed: (c) => (c.success + c.skipped > 0 ? "skip" : pending(c) ? "wait" : "run"),
  all_done: (c) => (pending(c) ? "wait" : "run"),
  one_success: (c) => (c.success > 0 ? "run" : pending(c) ? "wait" : missed(c)),
  one_failed: (c) => (bad(c) > 0 ? "run" : pending(c) ? "wait" : "skip"),
  one_done: (c) => (c.success + c.failed > 0 ? "run" : pending(c) ? "wait" : missed(c)),
  none_failed: (c) => (bad(c) > 0 ? "fail" : pending(c) ? "wait" : "run"),
  none_failed_min_one_success: (c) =>
    bad(c) > 0 ? "fail" : pending(c) ? "wait" : c.success > 0 ? "run" : "skip",
  none_skipped: (c) => (c.skipped > 0 ? "skip" : pending(c) ? "wait" : "run"),
  all_skipped: (c) => (c.success + bad(c) > 0 ? "skip" : pending(c) ? "wait" : "run"),
  all_done_min_one_success: (c) => (pending(c) ? "wait" : c.success > 0 ? "run" : missed(c)),
  always: () => "run",
} satisfies Record<TriggerRule, Rule>;

/** What the rule says now. A task without upstreams runs under every rule. */
export function decide(rule: TriggerRule, counts: UpstreamCounts): RuleAnswer {
  return counts.total === 0 ? "run" : RULES[rule](counts);
}

export type CountKey = "success" | "failed" | "upstreamFailed" | "skipped";

export const COUNTED_AS: Readonly<Record<TaskState, CountKey | "pending" | "absent">> = {
  none: "pending",
  queued: "pending",
  running: "pending",
  deferred: "pending",
  up_for_retry: "pending",
  success: "success",
  failed: "failed",
  cancelled: "failed",
  upstream_failed: "upstreamFailed",
  skipped: "skipped",
  removed: "absent",
};

/** Counts a list of upstream states. */
export function countStates(states: Iterable<TaskState>): UpstreamCounts {
  const counts = { total: 0, success: 0, failed: 0, upstreamFailed: 0, skipped: 0 };
  for (const state of states) {
    const as = COUNTED_AS[state];
    if (as === "absent") continue;
    counts.total += 1;
    if (as !== "pending") counts[as] += 1;
  }
  return counts;
}
