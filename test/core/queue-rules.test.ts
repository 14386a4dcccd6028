import { describe, expect, it, test } from "vitest";
import { globMatches } from "../../core/glob.ts";
import { queueFor, withQueues } from "../../core/queue-rules.ts";
import { spanInWords } from "../../core/span-words.ts";
import { serialTask } from "../support/serial.ts";

describe("B15: which queue a task gets", () => {
  const rules = {
    gpu: { tenants: ["ml"], otherwise: "refuse" },
    big: { tenants: ["ml"], otherwise: { redirect: "gpu" } },
    shut: { tenants: [], otherwise: "refuse" },
  } as const;
  const of = (queue: string, tenant: string | null) => queueFor({ id: "t", queue }, tenant, rules);

  it("its own where no rule is, or its tenant may use it", () => {
    expect(of("default", null)).toEqual({ queue: "default" });
    expect(of("constructor", null)).toEqual({ queue: "constructor" });
    expect(of("gpu", "ml")).toEqual({ queue: "gpu" });
  });

  it("the other one where it is redirected, once", () => {
    expect(of("big", "web")).toEqual({ queue: "gpu" });
  });

  it("none where it is refused, with what to do", () => {
    expect(of("gpu", null)).toEqual({
      refused:
        'task "t" asks for queue "gpu", and a dag without a tenant may not use it: it is for tenant "ml"; ' +
        "give the task another queue, or change the queue's tenants in the limits file",
    });
    expect(of("shut", "web")).toMatchObject({ refused: expect.stringContaining("it is for no tenant") });
  });

  it("a graph that no rule is about is left as it is; a wait without a body has no queue", () => {
    const plain = { tasks: [serialTask("a")] };
    expect(withQueues(plain, "web", rules)).toBe(plain);
    const wait = { kind: "event", timeoutMs: null } as const;
    const { tasks } = withQueues(
      { tasks: [serialTask("a", [], { queue: "gpu" }), { ...serialTask("b", [], { queue: "gpu" }), wait }] },
      "web",
      rules,
    );
    expect(tasks.map((task) => [task.queue, task.refused === undefined])).toEqual([
      ["default", false],
      ["gpu", true],
    ]);
  });
});

test.each([
  ["a", "a", true],
  ["a", "ab", false],
  ["*", "", true],
  ["sales_*", "sales_daily", true],
  ["sales_*", "stock", false],
  ["*_daily", "sales_daily", true],
  ["a*b*c", "a1b2c", true],
  ["a*b*c", "acb", false],
  ["aa*aa", "aaa", false],
])("pattern %j and %j: %j", (pattern, name, fits) => {
  expect(globMatches(pattern, name)).toBe(fits);
});

test.each([
  [0, "0 ms"],
  [250.2, "251 ms"],
  [999.5, "1 s"],
  [1_000, "1 s"],
  [44_001, "45 s"],
  [59_500, "1 min"],
  [60_000, "1 min"],
  [90_000, "1 min 30 s"],
  [3_600_000, "1 h"],
  [7_500_001, "2 h 6 min"],
  [86_399_999, "1 d"],
  [90_000_000, "1 d 1 h"],
])("a span of %d ms: %s", (ms, words) => {
  expect(spanInWords(ms)).toBe(words);
});
