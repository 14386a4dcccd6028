import { describe, expect, test } from "vitest";
import { dag, fail, task, taskGroup } from "../../authoring/index.ts";
import type { Dag, TaskRef } from "../../authoring/index.ts";
import { runDag } from "../../authoring/testing.ts";

const nothing = (): void => {};
const inDag = (build: () => void): Dag => dag("sales", {}, build);
const edgesOf = ({ graph }: Dag): Record<string, string[]> =>
  Object.fromEntries(graph.tasks.map(({ id, upstream }) => [id, upstream.map((up) => graph.tasks[up]!.id)]));
const statesOf = async (made: Dag): Promise<Record<string, string>> => {
  const { state, tasks } = await runDag(made);
  return { run: state, ...Object.fromEntries(Object.entries(tasks).map(([id, one]) => [id, one.state])) };
};
const loose = { task } as unknown as Record<"task", (...args: unknown[]) => TaskRef<never>>;

function errorOf(build: () => void): { code: string; message: string } {
  try {
    inDag(build);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
}

describe("A4: setup and teardown", () => {
  const made = (bodies: { make?: () => void; work?: () => void; drop?: () => void } = {}) =>
    inDag(() => {
      const make = task("make", { setup: true }, bodies.make ?? nothing);
      const work = task("work", { after: [make] }, bodies.work ?? nothing);
      task("drop", { teardown: [make], after: [work] }, bodies.drop ?? nothing);
    });

  test("A4: in the graph: it waits for its setups and for what it stands after, whatever the end", () => {
    const { graph } = made();
    expect(graph.tasks[0]).toMatchObject({ id: "make", setup: true });
    expect(graph.tasks[2]).toMatchObject({ teardown: [0], upstream: [0, 1], triggerRule: "all_done" });
    expect("setup" in graph.tasks[2]!).toBe(false);
    const free = inDag(() => void task("drop", { teardown: true }, nothing));
    expect(free.graph.tasks[0]).toMatchObject({ teardown: [] });
  });

  test("A4: it runs after success and after failure, and does not decide the run", async () => {
    expect(await statesOf(made())).toEqual({
      run: "success",
      make: "success",
      work: "success",
      drop: "success",
    });
    expect(await statesOf(made({ work: () => fail("x") }))).toMatchObject({
      run: "failed",
      work: "failed",
      drop: "success",
    });
    expect(await statesOf(made({ drop: () => fail("x") }))).toMatchObject({ run: "success", drop: "failed" });
    expect(await statesOf(made({ make: () => fail("x") }))).toMatchObject({
      run: "failed",
      work: "upstream_failed",
      drop: "upstream_failed",
    });
  });

  test("A4: what follows a group does not wait for its teardowns", async () => {
    const grouped = inDag(() => {
      const g = taskGroup("g", () => {
        const make = task("make", { setup: true }, nothing);
        const work = task("work", { after: [make] }, nothing);
        task("drop", { teardown: [make], after: [work] }, () => fail("x"));
      });
      task("next", { after: [g] }, nothing);
      const all = taskGroup("all", () => void task("drop", { teardown: true }, nothing));
      task("last", { after: [all] }, nothing);
    });
    expect(edgesOf(grouped)).toMatchObject({
      "g.drop": ["g.make", "g.work"],
      next: ["g.work"],
      last: ["all.drop"],
    });
    expect(await statesOf(grouped)).toMatchObject({ run: "success", "g.drop": "failed", next: "success" });
  });

  test("A4: a teardown after a whole group waits for what that ends with", () => {
    const grouped = inDag(() => {
      const make = task("make", { setup: true }, nothing);
      const g = taskGroup("g", () => {
        task("a", nothing).before(task("b", nothing));
      }).after(make);
      task("drop", { teardown: [make], after: [g] }, nothing);
    });
    expect(edgesOf(grouped)["drop"]).toEqual(["make", "g.b"]);
  });

  test("A4: in a mapped group each instance has its own", async () => {
    const mapped = inDag(() => {
      taskGroup("g", { expand: { n: [1, 2] } }, ({ n }) => {
        const make = task("make", { setup: true, inputs: { n } }, ({ inputs }) => {
          if (inputs.n === 1) fail("x");
          return inputs.n;
        });
        const work = task("work", { after: [make] }, () => fail("y"));
        task("drop", { inputs: { make }, teardown: [make], after: [work] }, ({ inputs }) => inputs.make);
      });
    });
    const { tasks, state } = await runDag(mapped);
    expect(state).toBe("failed");
    expect([tasks["g.drop[0]"]?.state, tasks["g.drop[1]"]?.state]).toEqual(["upstream_failed", "success"]);
    expect(tasks["g.drop[1]"]?.output).toBe(2);
  });

  test.each([
    [
      "a teardown of what is no setup",
      () => task("drop", { teardown: [task("make", nothing)] }, nothing),
      'task "drop": option "teardown" names task "make", which is no setup; give it setup: true',
    ],
    [
      "both at once",
      () => task("drop", { setup: true, teardown: true }, nothing),
      "it is a setup and a teardown",
    ],
    [
      "a rule of its own",
      () => task("drop", { teardown: true, triggerRule: "one_failed" }, nothing),
      'option "triggerRule" is "one_failed", and a teardown has a rule of its own',
    ],
    [
      "an empty list",
      () => task("drop", { teardown: [] }, nothing),
      'option "teardown" is a list of 0; expected',
    ],
    ["false", () => loose.task("drop", { teardown: false }, nothing), "or true for a teardown of none"],
    [
      "an id",
      () => loose.task("drop", { teardown: ["make"] }, nothing),
      "it takes what task() returned, not an id",
    ],
  ] as [string, () => void, string][])("A4: refused: %s", (_title, build, message) => {
    expect(errorOf(build).message).toContain(message);
  });
});
