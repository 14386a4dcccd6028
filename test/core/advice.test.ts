import { describe, expect, test } from "vitest";
import { dag, task, taskGroup, waitFor } from "../../authoring/index.ts";
import type { Dag } from "../../authoring/index.ts";
import { adviceOnLists, adviceOnRun, advisable, type FanOut } from "../../core/advice.ts";

const inDag = (build: () => void): Dag["graph"] => dag("tiny", {}, build).graph;
const items = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const ran = (taskId: string, instances: number, medianMs: number, waited = 0.5): FanOut => ({
  taskId,
  instances,
  medianMs,
  waited,
});

describe("D3: advice on lists in the DAG file", () => {
  test("D3: a long list that is mapped one by one is worth a word, with the setting that changes it", () => {
    const graph = inDag(() => {
      task("load", { expand: { n: items(300) } }, () => null);
      taskGroup("each", { expand: { n: items(101) } }, ({ n }) => void task("t", { inputs: { n } }, () => 1));
    });
    expect(adviceOnLists(graph)).toEqual([
      'task "load" is mapped one by one over a list of 300 items, and each is a try with a slot of its own; when one takes less than some seconds, give several to an instance: batch: 10 would make 30',
      'group "each" is mapped one by one over a list of 101 items, and each is a try with a slot of its own; when one takes less than some seconds, give several to an instance: batch: 10 would make 11',
    ]);
  });

  test("D3: of 100 items, of batches, of lists known at run time, of several lists and of waits it says nothing", () => {
    const graph = inDag(() => {
      const list = task("list", () => items(5_000));
      task("hundred", { expand: { n: items(100) } }, () => null);
      task("batches", { expand: { n: items(1_000) }, batch: 2 }, () => null);
      task("later", { expand: { n: list } }, () => null);
      task("several", { expand: { n: items(100), m: items(2) } }, () => null);
      waitFor("ask", { expand: { n: items(200) } });
    });
    expect(adviceOnLists(graph)).toEqual([]);
    expect(advisable(graph)).toEqual(["hundred", "batches", "later"]);
  });
});

describe("D3: advice from what ran", () => {
  const one = inDag(() => void task("load", { expand: { n: items(1) } }, () => null));

  test.each([
    [1_000, 120, "took less than 0.2 s", "batch: 84 would make 12 of about 10 s"],
    [1_000, 500, "took less than 0.5 s", "batch: 20 would make 50 of about 10 s"],
    [100, 999, "took less than 1 s", "batch: 11 would make 10 of about 10 s"],
    // No more than there are.
    [100, 12, "took less than 12 ms", "batch: 100 would make 1 of about 1.2 s"],
    [100, 0, "took less than 1 ms", "batch: 100 would make 1 of about 0.1 s"],
  ])("D3: %i instances of %i ms", (instances, medianMs, took, batch) => {
    const advice = adviceOnRun(one, "2026-05-09", [ran("load", instances, medianMs, 0.644)])!;
    expect(advice).toContain(
      `task "load" had ${instances} instances in run 2026-05-09, and half of them ${took}`,
    );
    expect(advice).toContain("64 % of the time from being asked for to their ends");
    expect(advice).toContain(batch);
  });

  test("D3: few instances, and those of a second or more, are left alone", () => {
    expect(adviceOnRun(one, "r", [ran("load", 99, 1)])).toBeNull();
    expect(adviceOnRun(one, "r", [ran("load", 5_000, 1_000)])).toBeNull();
    expect(adviceOnRun(one, "r", [])).toBeNull();
  });

  test("D3: batches that are still too small are to be larger", () => {
    const graph = inDag(() => {
      const list = task("list", () => items(1));
      task("load", { expand: { n: list }, batch: 5 }, () => null);
    });
    expect(adviceOnRun(graph, "r", [ran("load", 200, 250)])).toContain(
      "batch: 200 would make 5 of about 10 s",
    );
  });

  test("D3: a group counts as a whole: one long task in it is reason enough for its instances", () => {
    const graph = inDag(() => {
      const list = task("list", () => items(1));
      taskGroup("each", { expand: { n: list } }, ({ n }) => {
        const a = task("a", { inputs: { n } }, () => 1);
        task("b", { inputs: { a } }, () => 1);
      });
    });
    expect(adviceOnRun(graph, "r", [ran("each.a", 500, 20), ran("each.b", 500, 30, 0.9)])).toMatch(
      /^group "each" had 500 instances in run r, and half of them took less than 50 ms; 90 %.*batch: 200 would make 3 of/,
    );
    expect(adviceOnRun(graph, "r", [ran("each.a", 500, 20), ran("each.b", 500, 3_000)])).toBeNull();
    expect(adviceOnRun(graph, "r", [ran("each.a", 500, 20)])).toBeNull();
  });

  test("D3: of several the largest is told, and the others are named", () => {
    const graph = inDag(() => {
      const list = task("list", () => items(1));
      for (const id of ["few", "many"]) task(id, { expand: { n: list } }, () => null);
    });
    expect(adviceOnRun(graph, "r", [ran("few", 100, 10), ran("many", 900, 10)])).toMatch(
      /^task "many" had 900 .*; so is it with task "few"$/,
    );
  });
});
