import { describe, expect, test } from "vitest";
import { branch, dag, shortCircuit, switchOn, task, taskGroup } from "../../authoring/index.ts";
import type { Dag, TaskRef } from "../../authoring/index.ts";
import { runDag, runTask } from "../../authoring/testing.ts";

const nothing = (): void => {};
const inDag = (build: () => void): Dag => dag("sales", {}, build);
const statesOf = async (made: Dag, conf = {}): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries((await runDag(made, { conf })).tasks).map(([id, { state }]) => [id, state]),
  );
const upstreamOf = ({ graph }: Dag, id: string): string[] =>
  graph.tasks.find((one) => one.id === id)!.upstream.map((up) => graph.tasks[up]!.id);
const loose = { branch, switchOn, shortCircuit } as unknown as Record<
  "branch" | "switchOn" | "shortCircuit",
  (...args: unknown[]) => TaskRef<string[]>
>;

function errorOf(build: () => void): { code: string; message: string } {
  try {
    inDag(build);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
}

describe("A4: branch", () => {
  const ways = (answer: (refs: Record<"a" | "b" | "g", never>) => unknown) =>
    inDag(() => {
      const a = task("a", nothing);
      const b = task("b", nothing);
      const g = taskGroup("g", () => {
        task("x", nothing).before(task("y", nothing));
        task("z", nothing);
      });
      loose.branch("way", () => answer({ a, b, g } as never)).before(a, b, g);
      task("join", { after: [a, b, g], triggerRule: "none_failed_min_one_success" }, nothing);
    });

  test.each([
    ["a reference", ({ a }) => a, ["a"]],
    ["an id", () => "b", ["b"]],
    ["a promise of several", async ({ a, b }) => [a, b], ["a", "b"]],
    ["a group: the tasks it begins with", ({ g }) => g, ["g.x", "g.z"]],
    ["a group by its id, beside a task", () => ["g", "b"], ["g.x", "g.z", "b"]],
    ["null: none", () => null, []],
    ["an empty list", () => [], []],
  ] as [string, Parameters<typeof ways>[0], string[]][])(
    "A4: its body answers %s",
    async (_title, answer, follows) => {
      const run = await runDag(ways(answer));
      expect(run.tasks["way"]).toMatchObject({ state: "success", output: follows });
      const chosen = ["a", "b", "g.x", "g.z"].filter((id) => run.tasks[id]?.state === "success");
      expect(chosen.sort()).toEqual([...follows].sort());
      expect(run.tasks["g.y"]?.state).toBe(follows.includes("g.x") ? "success" : "skipped");
      expect(run.tasks["join"]?.state).toBe(follows.length === 0 ? "skipped" : "success");
    },
  );

  test.each([
    ["an id that does not exist", () => "aa", 'and "aa" is none of them; did you mean "a"?'],
    [
      "a task that is not right after it",
      () => "join",
      'and "join" is none of them: they are a, b, g.x, g.z',
    ],
    ["a number", () => 5, "and the number 5 is none of them"],
  ])("A4: %s fails it for good", async (_title, answer, message) => {
    const { tasks } = await runDag(ways(answer));
    expect(tasks["way"]).toMatchObject({ state: "failed", tries: 1, error: { code: "bad_branch" } });
    expect(tasks["way"]?.error?.message).toContain(message);
    expect(tasks["join"]?.state).toBe("upstream_failed");
  });

  test("A4: a task of another DAG", async () => {
    let other: unknown;
    dag("other", {}, () => void (other = task("a", nothing)));
    expect((await runDag(ways(() => other))).tasks["way"]?.error?.message).toContain(
      'task "a" is of dag "other"',
    );
  });

  test("K28: a join that is also a target", async () => {
    const made = (triggerRule: "all_success" | "none_failed_min_one_success") =>
      inDag(() => {
        const t1 = task("t1", nothing);
        const join = task("join", { after: [t1], triggerRule }, nothing);
        branch("way", ({ conf }) => String(conf["to"])).before(t1, join);
      });
    expect(await statesOf(made("all_success"), { to: "t1" })).toMatchObject({
      t1: "success",
      join: "success",
    });
    expect(await statesOf(made("all_success"), { to: "join" })).toMatchObject({
      t1: "skipped",
      join: "skipped",
    });
    expect(await statesOf(made("none_failed_min_one_success"), { to: "join" })).toMatchObject({
      t1: "skipped",
      join: "success",
    });
  });

  test("A4: what it chose is its output, for those who read it; one try of it alone", async () => {
    const made = inDag(() => {
      const a = task("a", nothing);
      const way = branch("way", { retries: 1, after: [task("first", nothing)] }, () => a);
      way.before(a);
      task("told", { inputs: { way }, after: [a] }, ({ inputs }) => inputs.way);
    });
    const told = inDag(() => {
      const way = branch("way", () => ["told"]);
      task("told", { inputs: { way } }, ({ inputs }) => inputs.way);
    });
    expect((await runDag(told)).tasks["told"]?.output).toEqual(["told"]);
    expect(made.graph.tasks.find(({ id }) => id === "way")).toMatchObject({ decides: "branch", retries: 1 });
    expect((await runTask(made, "way")).output).toEqual(["a"]);
  });
});

describe("A4: switchOn", () => {
  const made = (more: object = {}) =>
    inDag(() => {
      const eu = task("eu", nothing);
      const us = taskGroup("us", () => void task("x", nothing));
      const other = task("other", nothing);
      const region = task("region", ({ conf }) => String(conf["region"]));
      loose.switchOn(
        "by_region",
        { inputs: { region }, cases: { eu, us, both: [eu, us], none: null }, otherwise: other, ...more },
        ({ inputs }: { inputs: { region: string } }) => inputs.region,
      );
    });

  test("A4: what its cases name comes after it", () => {
    expect(["eu", "us.x", "other"].map((id) => upstreamOf(made(), id))).toEqual([
      ["by_region"],
      ["by_region"],
      ["by_region"],
    ]);
    expect(upstreamOf(made(), "by_region")).toEqual(["region"]);
  });

  test.each([
    ["eu", ["eu"]],
    ["us", ["us.x"]],
    ["both", ["eu", "us.x"]],
    ["none", []],
    ["moon", ["other"]],
    ["constructor", ["other"]],
  ])("A4: the answer %s", async (region, follows) => {
    const states = await statesOf(made(), { region });
    expect(["eu", "us.x", "other"].filter((id) => states[id] === "success")).toEqual(follows);
  });

  test("A4: another answer without otherwise fails it, with the cases", async () => {
    const { tasks } = await runDag(made({ otherwise: undefined }), { conf: { region: "uss" } });
    expect(tasks["by_region"]).toMatchObject({ state: "failed", tries: 1, error: { code: "bad_branch" } });
    expect(tasks["by_region"]?.error?.message).toContain('"uss" is none of them; did you mean "us"?');
  });

  test("A4: cases by id; none at all, an unknown one", () => {
    const byId = inDag(() => {
      task("eu", nothing);
      switchOn("s", { cases: { eu: "eu" } }, () => "eu");
    });
    expect(upstreamOf(byId, "eu")).toEqual(["s"]);
    expect(errorOf(() => loose.switchOn("s", { cases: {} }, nothing)).message).toContain(
      'option "cases" is empty',
    );
    expect(errorOf(() => loose.switchOn("s", { cases: { eu: "eu" } }, nothing))).toMatchObject({
      code: "unknown_upstream",
    });
  });
});

describe("A4: shortCircuit", () => {
  test.each([
    [true, "success"],
    [false, "skipped"],
  ])("A4: %s: all that follows is %s, whatever its rule", async (goesOn, state) => {
    const made = inDag(() => {
      const on = shortCircuit("on", () => goesOn);
      const a = task("a", { after: [on] }, nothing);
      task("b", { after: [a], triggerRule: "all_done" }, nothing);
      task("beside", nothing);
    });
    expect(await statesOf(made)).toEqual({ on: "success", a: state, b: state, beside: "success" });
  });

  test("K27: in a mapped group each instance decides for itself", async () => {
    const made = inDag(() => {
      const g = taskGroup("g", { expand: { n: [0, 1, 2, 3, 4, 5, 6] } }, ({ n }) => {
        const on = shortCircuit("on", { inputs: { n } }, async ({ inputs }) => inputs.n === 6);
        return task("t", { inputs: { n }, after: [on] }, ({ inputs }) => inputs.n);
      });
      task("sum", { inputs: { all: g.returned }, triggerRule: "none_failed" }, ({ inputs }) => inputs.all);
    });
    const { tasks } = await runDag(made);
    const states = Array.from({ length: 7 }, (_, i) => tasks[`g.t[${i}]`]?.state);
    expect(states).toEqual([...Array.from({ length: 6 }, () => "skipped"), "success"]);
    expect(tasks["sum"]?.output).toEqual([6]);
  });
});

describe("A4: errors at definition", () => {
  test.each([
    ["a mapped branch", { expand: { n: [1] } }, ["a branch is not mapped", "mapped group"]],
    ["a branch as a setup", { setup: true }, ["a branch is no setup"]],
    ["a misspelt option", { retires: 1 }, ['did you mean "retries"?']],
  ])("A4: %s", (_title, options, parts) => {
    const error = errorOf(() => loose.branch("way", options, nothing));
    for (const part of parts) expect(error.message).toContain(part);
  });

  test("A4: a branch that nothing comes after, or nothing of its own instance", () => {
    expect(errorOf(() => branch("way", () => null))).toMatchObject({
      code: "no_targets",
      message: expect.stringMatching(
        /^dag "sales", task "way": it is a branch, and nothing comes right after it; say/,
      ),
    });
    const mapped = errorOf(() => {
      const out = task("out", nothing);
      taskGroup("g", { expand: { n: [1] } }, () => void branch("way", () => out).before(out));
    });
    expect(mapped.message).toContain("nothing comes right after it inside of its mapped group");
    // A teardown is not chosen; a short circuit may be the last.
    expect(
      errorOf(() => {
        const make = task("make", { setup: true }, nothing);
        task("drop", { teardown: [make], after: [branch("way", () => null)] }, nothing);
      }).code,
    ).toBe("no_targets");
    inDag(() => void shortCircuit("on", () => true));
  });

  test("A4: no body, outside of any DAG", () => {
    expect(errorOf(() => loose.shortCircuit("on", {})).message).toContain(
      "the last argument of shortCircuit()",
    );
    expect(() => branch("way", () => null)).toThrow('task "way" is outside of any DAG; call branch()');
  });
});
