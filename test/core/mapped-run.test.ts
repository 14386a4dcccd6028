import { describe, expect, it } from "vitest";
import { askedOf, type RunTask } from "../../core/plan.ts";
import type { TryOutcome } from "../../core/progress.ts";
import type { SerialMap } from "../../core/mapping.ts";
import { over, list, failed, skipped, mapped, inputs } from "./mapped-rig.ts";
import { Rig, success, task } from "./run-rig.ts";

describe("A7: one task mapped over one output", () => {
  it("A7: makes an instance for each item, each with its own; the reducer gets all", () => {
    const rig = mapped(["all_success"]);
    expect(rig.names()).toEqual(["list", "load", "all_success"]);
    const asked = rig.run("list", list(3)).filter((effect) => effect.kind === "request");
    expect(asked.map(({ task: at, index, try: number }) => [at, index, number])).toEqual([
      [1, 0, 1],
      [1, 1, 1],
      [1, 2, 1],
    ]);
    expect(inputs(rig, "load[2]")).toEqual({ item: { task: "list", pick: { from: 2, count: null } } });
    rig.run("load[2]");
    rig.run("load[0]");
    expect(rig.stateOf("all_success")).toEqual(["none"]);
    rig.run("load[1]");
    expect(inputs(rig, "all_success")).toEqual({ loads: { task: "load", all: true } });
    rig.drain();
    expect(rig.progress.state).toBe("success");
  });

  it("K25: rules count instances: one_failed starts with the first failure, the others wait for the last", () => {
    const rig = mapped(["all_done", "all_success", "one_failed"]);
    rig.run("list", list(10));
    for (let index = 0; index < 9; index++) {
      rig.run(`load[${index}]`, index < 5 ? failed : success);
      expect(rig.stateOf("all_done", "one_failed")).toEqual(["none", "queued"]);
    }
    expect(rig.stateOf("all_success")).toEqual(["upstream_failed"]);
    rig.run("load[9]");
    expect(rig.stateOf("all_done")).toEqual(["queued"]);
  });

  it("K26: an empty list skips the task, one cell and no instance; rules decide about the reducers", () => {
    const rig = mapped(["all_success", "none_failed", "all_done", "none_failed_min_one_success"]);
    rig.run("list", list(0));
    expect(rig.names()).toContain("load");
    expect(rig.states()).toEqual(["success", "skipped", "skipped", "queued", "queued", "skipped"]);
    expect(inputs(rig, "all_done"), "an empty list, never none").toEqual({
      loads: { task: "load", all: true },
    });
    rig.drain();
    expect(rig.progress.state).toBe("success");
  });

  it("K41: the bound, and what is no list: an error with both numbers and no instance", () => {
    const fits = mapped([]);
    fits.run("list", list(1024));
    expect(fits.names()).toHaveLength(1 + 1024);
    const errorOf = (measured: NonNullable<Extract<TryOutcome, { kind: "success" }>["measured"]>) => {
      const rig = mapped(["all_done"]);
      const effects = rig.run("list", { ...success, measured });
      expect(rig.stateOf("load", "all_done")).toEqual(["failed", "queued"]);
      const told = effects.find((effect) => effect.kind === "record" && effect.task === 1);
      expect(told).toMatchObject({ index: -1, try: 1, state: "failed" });
      const { ended } = told as Extract<typeof told, { kind: "record" }>;
      return (ended!.outcome as Extract<TryOutcome, { kind: "failed" }>).error;
    };
    expect(errorOf({ items: 1025 })).toEqual({
      code: "too_many_instances",
      message:
        'list "item" (the output of task "list") would give 1025 instances, and at most 1024 are allowed: raise maxMapped, or map in batches',
      retryable: false,
    });
    for (const not of ['the text "abc"', "null", "undefined"]) {
      expect(errorOf({ not })).toMatchObject({
        code: "not_a_list",
        message: `list "item" (the output of task "list") is ${not}; expected a list, one item for each instance`,
      });
    }
  });

  it("K43: the reducer gets what succeeded, in the order of indexes; all skipped is an empty list, never none", () => {
    const rules = ["none_failed", "all_done", "all_success"] as const;
    const some = mapped(rules);
    some.run("list", list(5));
    for (const index of [4, 3, 1, 0, 2]) some.run(`load[${index}]`, index % 2 === 1 ? skipped : success);
    expect(some.stateOf(...rules)).toEqual(["queued", "queued", "skipped"]);
    const none = mapped(rules);
    none.run("list", list(5));
    for (let index = 0; index < 5; index++) none.run(`load[${index}]`, skipped);
    expect(none.stateOf(...rules)).toEqual(["queued", "queued", "skipped"]);
    expect(inputs(none, "all_done")).toEqual({ loads: { task: "load", all: true } });
  });

  it("A7: a failed, skipped or missing list", () => {
    const lost = mapped(["all_done"]);
    lost.run("list", failed);
    expect(lost.states()).toEqual(["failed", "upstream_failed", "queued"]);
    const none = mapped(["all_done"]);
    none.run("list", skipped);
    expect(none.states()).toEqual(["skipped", "skipped", "queued"]);
    // A task that would run after a failed one has no list all the same.
    const brave = mapped([], {}, { triggerRule: "all_done" });
    brave.run("list", failed);
    expect(brave.states()).toEqual(["failed", "upstream_failed"]);
    const marked = mapped([]);
    marked.mark("success", "list");
    expect(marked.states()).toEqual(["success", "failed"]);
  });

  it("A7: batches of 25 of 300 items are 12 instances, each retried alone", () => {
    const rig = mapped(["all_success"], { batch: 25 }, { retries: 1 });
    rig.run("list", list(299));
    expect(rig.names()).toHaveLength(2 + 12);
    expect(inputs(rig, "load[11]")).toEqual({ item: { task: "list", pick: { from: 275, count: 24 } } });
    rig.run("load[4]", { kind: "failed", error: { code: "x", message: "", retryable: true } });
    expect(rig.stateOf("load[4]", "load[5]")).toEqual(["up_for_retry", "queued"]);
    rig.drain();
    expect([rig.cell("load[4]").try, rig.cell("load[5]").try, rig.progress.state]).toEqual([2, 1, "success"]);
  });

  it("A7: several lists: their product, the last turning fastest, or one with the other", () => {
    const two = (how: SerialMap["how"]) =>
      new Rig({
        tasks: [task("a"), task("b"), task("t", [0, 1], { map: 0, items: { x: "x", y: "y" } })],
        maps: [over(0, { over: { x: 0, y: 1 }, how })],
      });
    const product = two("product");
    product.run("a", list(2));
    product.run("b", list(3));
    expect(product.names()).toHaveLength(2 + 6);
    expect(inputs(product, "t[4]")).toEqual({
      x: { task: "a", pick: { from: 1, count: null } },
      y: { task: "b", pick: { from: 1, count: null } },
    });
    // The database gives keys back in an order of its own.
    const turned = new Rig({
      tasks: [task("t", [], { map: 0, items: { x: "x", y: "y" } })],
      maps: [over(0, { over: { y: ["a", "b"], x: [1, 2, 3] }, names: ["x", "y"] })],
    });
    expect(inputs(turned, "t[3]")).toEqual({ x: { value: 2 }, y: { value: "b" } });
    const zip = two("zip");
    zip.run("a", list(2));
    zip.run("b", list(2));
    expect(inputs(zip, "t[1]")).toEqual({
      x: { task: "a", pick: { from: 1, count: null } },
      y: { task: "b", pick: { from: 1, count: null } },
    });
    const uneven = two("zip");
    uneven.run("a", list(2));
    const told = uneven.run("b", list(3));
    expect(JSON.stringify(told)).toContain("zip_lengths");
    expect(uneven.stateOf("t")).toEqual(["failed"]);
  });

  it("A7: a constant list is mapped out at once; so many instances at a time as the task allows", () => {
    const rig = new Rig({
      tasks: [task("t", [], { map: 0, items: { item: "item" }, concurrency: 2, retries: 1 })],
      maps: [over(["a", "b", "c", "d"])],
    });
    expect(rig.states()).toEqual(["queued", "queued", "none", "none"]);
    expect(inputs(rig, "t[3]")).toEqual({ item: { value: "d" } });
    const after = rig.run("t[1]", { kind: "failed", error: { code: "x", message: "", retryable: true } });
    expect(after).toContainEqual({ kind: "request", task: 0, index: 2, try: 1 });
    rig.send({ kind: "due", task: 0, index: 1, try: 1 });
    expect(rig.states()).toEqual(["queued", "up_for_retry", "queued", "none"]);
    rig.run("t[0]");
    expect(rig.states()).toEqual(["success", "queued", "queued", "none"]);
    rig.drain();
    expect([rig.progress.state, rig.cell("t[1]").try]).toEqual(["success", 2]);
  });
});

describe("A7: mapped groups", () => {
  /** a → b, both of one map; then a reducer. */
  const group = (more: { a?: Partial<RunTask>; b?: Partial<RunTask> } = {}): Rig =>
    new Rig({
      tasks: [
        task("list"),
        task("a", [0], { map: 0, items: { item: "item" }, retries: 1, ...more.a }),
        task("b", [1], { map: 0, inputs: { a: 1 }, ...more.b }),
        task("sum", [2], { inputs: { b: 2 }, triggerRule: "none_failed" }),
      ],
      maps: [over(0, { group: 0 })],
    });

  it("K42: chains keep their index, whatever ends first", () => {
    const rig = group();
    rig.run("list", list(6));
    rig.run("a[2]", { kind: "failed", error: { code: "x", message: "", retryable: true } });
    rig.run("a[4]", skipped);
    for (const index of [5, 3, 1, 0]) rig.run(`a[${index}]`);
    expect(rig.stateOf("b[4]", "b[5]", "b[2]")).toEqual(["skipped", "queued", "none"]);
    expect(inputs(rig, "b[5]")).toEqual({ a: { task: "a", index: 5 } });
    rig.drain();
    expect(rig.stateOf("b[2]", "b[4]", "sum")).toEqual(["success", "skipped", "success"]);
    expect(inputs(rig, "sum")).toEqual({ b: { task: "b", all: true } });
  });

  it("K27: a short circuit speaks for its own instance", () => {
    const rig = group({ a: { decides: "short_circuit", retries: 0 } });
    rig.run("list", list(7));
    for (const index of [6, 0, 5, 1, 4, 2, 3])
      rig.run(`a[${index}]`, { ...success, follow: index === 6 ? ["b"] : [] });
    rig.drain();
    expect(rig.stateOf(...Array.from({ length: 7 }, (_, i) => `b[${i}]`))).toEqual([
      ...Array.from({ length: 6 }, () => "skipped"),
      "success",
    ]);
    expect(rig.stateOf("sum")).toEqual(["success"]);
  });

  it("K27: a branch is asked about its own instance alone", () => {
    const rig = group({ b: { decides: "branch" } });
    expect(askedOf(rig.plan, 2)).toEqual({ asked: { decides: { kind: "branch", among: [] } } });
    const a = group({ a: { decides: "branch" } });
    expect(askedOf(a.plan, 1)).toEqual({ asked: { decides: { kind: "branch", among: ["b"] } } });
    a.run("list", list(2));
    a.run("a[0]", { ...success, follow: [] });
    a.run("a[1]", { ...success, follow: ["b"] });
    expect(a.stateOf("b[0]", "b[1]")).toEqual(["skipped", "queued"]);
  });

  it("A7: depth first: the first instance's later task goes before no other instance is done", () => {
    const rig = group();
    rig.run("list", list(3));
    expect(rig.run("a[0]")).toContainEqual({ kind: "request", task: 2, index: 0, try: 1 });
    rig.run("b[0]");
    expect(rig.stateOf("a[1]", "a[2]", "b[0]")).toEqual(["queued", "queued", "success"]);
  });

  it("A7: mapped over a mapped task: its list is what succeeded", () => {
    const rig = new Rig({
      tasks: [
        task("list"),
        task("a", [0], { map: 0, items: { item: "item" } }),
        task("b", [1], { map: 1, items: { a: "item" }, triggerRule: "none_failed" }),
      ],
      maps: [over(0), over(1)],
    });
    rig.run("list", list(4));
    for (const index of [0, 2, 3]) rig.run(`a[${index}]`);
    expect(rig.names()).toContain("b");
    rig.run("a[1]", skipped);
    expect(rig.names().filter((name) => name.startsWith("b"))).toEqual(["b[0]", "b[1]", "b[2]"]);
    expect(inputs(rig, "b[1]")).toEqual({ a: { task: "a", all: true, pick: { from: 1, count: null } } });
    rig.drain();
    expect(rig.progress.state).toBe("success");
  });

  it("a task of a mapped group that nothing in it leads to waits for no list of its own", () => {
    const rig = new Rig({
      tasks: [
        task("list"),
        task("gate"),
        task("a", [0], { map: 0, items: { item: "item" } }),
        task("b", [1, 2], { map: 0 }),
      ],
      maps: [over(0, { group: 0 })],
    });
    rig.run("list", list(2));
    rig.run("a[0]");
    expect(rig.stateOf("b[0]", "b[1]")).toEqual(["none", "none"]);
    rig.run("gate");
    expect(rig.stateOf("b[0]", "b[1]")).toEqual(["queued", "none"]);
    rig.run("a[1]");
    expect(rig.stateOf("b[1]")).toEqual(["queued"]);
  });
});
