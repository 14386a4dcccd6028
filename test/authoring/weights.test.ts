import { describe, expect, test } from "vitest";
import { dag, task } from "../../authoring/index.ts";

type Rule = "absolute" | "upstream" | "downstream";

/** a → b → d, a → c → d, and e alone, weighing 1, 2, 4, 8 and 16. */
test("B12 B17: cores may be a fraction, come from defaults, and are left out at their default", () => {
  const { graph } = dag("used", { schedule: null, defaults: { cores: 0.25 } }, () => {
    task("small", () => {});
    task("one", { cores: 1 }, () => {});
    task("large", { cores: 10_000 }, () => {});
  });
  expect(graph.tasks.map(({ id, ...options }) => [id, "cores" in options ? options.cores : null])).toEqual([
    ["small", 0.25],
    ["one", null],
    ["large", 10_000],
  ]);
});

function weightsBy(weightRule: Rule): Record<string, number> {
  const { graph } = dag("weighed", { schedule: null, defaults: { weightRule } }, () => {
    const a = task("a", { priorityWeight: 1 }, () => {});
    const b = task("b", { priorityWeight: 2, after: [a] }, () => {});
    const c = task("c", { priorityWeight: 4, after: [a] }, () => {});
    task("d", { priorityWeight: 8, after: [b, c] }, () => {});
    task("e", { priorityWeight: 16 }, () => {});
  });
  return Object.fromEntries(graph.tasks.map(({ id, priorityWeight }) => [id, priorityWeight]));
}

describe("B11: priority weight by its rule", () => {
  test("B11: absolute is the task's own", () => {
    expect(weightsBy("absolute")).toEqual({ a: 1, b: 2, c: 4, d: 8, e: 16 });
  });

  test("B11: upstream adds all before it, downstream all behind it, each once", () => {
    expect(weightsBy("upstream")).toEqual({ a: 1, b: 3, c: 5, d: 15, e: 16 });
    expect(weightsBy("downstream")).toEqual({ a: 15, b: 10, c: 12, d: 8, e: 16 });
  });

  test("B11: a rule of its own beside others", () => {
    const { graph } = dag("mixed", { schedule: null }, () => {
      const a = task("a", { weightRule: "downstream" }, () => {});
      task("b", { after: [a], priorityWeight: 5 }, () => {});
    });
    expect(graph.tasks.map(({ priorityWeight }) => priorityWeight)).toEqual([6, 5]);
  });

  test("B11: a sum stays within what the account book holds", () => {
    const { graph } = dag(
      "long",
      { schedule: null, defaults: { weightRule: "downstream", priorityWeight: 1_000_000 } },
      () => {
        let last = task("t0", () => {});
        for (let i = 1; i < 3000; i++) last = task(`t${i}`, { after: [last] }, () => {});
      },
    );
    expect(graph.tasks[0]!.priorityWeight).toBe(2 ** 31 - 1);
    expect(graph.tasks[2999]!.priorityWeight).toBe(1_000_000);
  });
});
