import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countStates, decide, TRIGGER_RULES, type RuleAnswer, type TriggerRule } from "../../core/rules.ts";
import { TASK_STATES, type TaskState } from "../../core/states.ts";

const COLUMNS: readonly (readonly [TaskState, TaskState])[] = [
  ["success", "skipped"],
  ["failed", "skipped"],
  ["skipped", "skipped"],
  ["failed", "upstream_failed"],
  ["success", "failed"],
];
const ANSWER: Record<string, RuleAnswer> = { R: "run", S: "skip", U: "fail" };
const TABLE: Record<Exclude<TriggerRule, "all_done_min_one_success">, string> = {
  all_success: "S U S U U",
  all_failed: "S S S R S",
  all_done: "R R R R R",
  one_success: "R U S U R",
  one_failed: "S R S R R",
  one_done: "R R S R R",
  none_failed: "R U R U U",
  none_failed_min_one_success: "R U S U U",
  none_skipped: "S S S R R",
  all_skipped: "S S R S S",
  always: "R R R R R",
};

describe("K24 A4: the table of trigger rules", () => {
  for (const [rule, row] of Object.entries(TABLE)) {
    row.split(" ").forEach((letter, column) => {
      const [a, b] = COLUMNS[column]!;
      it(`K24: ${rule} over ${a} + ${b} → ${ANSWER[letter]}`, () => {
        expect(decide(rule as TriggerRule, countStates([a, b]))).toBe(ANSWER[letter]);
        expect(decide(rule as TriggerRule, countStates([b, a]))).toBe(ANSWER[letter]);
      });
    });
  }

  it("K24: one_success, one_failed and one_done start on the first fitting upstream", () => {
    expect(decide("one_success", countStates(["success", "running"]))).toBe("run");
    expect(decide("one_failed", countStates(["failed", "running"]))).toBe("run");
    expect(decide("one_done", countStates(["failed", "running"]))).toBe("run");
    expect(decide("one_done", countStates(["success", "queued"]))).toBe("run");
    expect(decide("one_success", countStates(["failed", "running"]))).toBe("wait");
  });

  it("A4: all_done_min_one_success waits for all and needs one success; skipped ones count for nothing", () => {
    expect(decide("all_done_min_one_success", countStates(["success", "running"]))).toBe("wait");
    expect(decide("all_done_min_one_success", countStates(["success", "failed"]))).toBe("run");
    expect(decide("all_done_min_one_success", countStates(["success", "skipped"]))).toBe("run");
    expect(decide("all_done_min_one_success", countStates(["failed", "skipped"]))).toBe("fail");
    expect(decide("all_done_min_one_success", countStates(["skipped", "skipped"]))).toBe("skip");
  });

  const PENDING: readonly TaskState[] = ["none", "queued", "running", "deferred", "up_for_retry"];
  const DONE: readonly TaskState[] = ["success", "failed", "upstream_failed", "skipped", "cancelled"];

  it("A4: an answer other than wait stands whatever the pending upstreams become", () => {
    const upstream = fc.record({ now: fc.constantFrom(...TASK_STATES), later: fc.constantFrom(...DONE) });
    fc.assert(
      fc.property(
        fc.constantFrom(...TRIGGER_RULES),
        fc.array(upstream, { minLength: 1, maxLength: 8 }),
        (rule, ups) => {
          const now = decide(rule, countStates(ups.map((up) => up.now)));
          fc.pre(now !== "wait");
          const later = ups.map((up) => (PENDING.includes(up.now) ? up.later : up.now));
          expect(decide(rule, countStates(later))).toBe(now);
        },
      ),
      { seed: 815, numRuns: 3000 },
    );
  });

  it("A4: once all upstreams are done, no rule waits", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...TRIGGER_RULES),
        fc.array(fc.constantFrom(...DONE), { maxLength: 6 }),
        (rule, states) => {
          expect(decide(rule, countStates(states))).not.toBe("wait");
        },
      ),
      { seed: 816, numRuns: 1000 },
    );
  });
});
