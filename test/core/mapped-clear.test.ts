import { describe, expect, it } from "vitest";
import type { RunTask } from "../../core/plan.ts";
import { select } from "../../core/selection.ts";
import { over, list, failed, skipped, mapped } from "./mapped-rig.ts";
import { Rig, success, task } from "./run-rig.ts";

describe("B9: clearing mapped tasks", () => {
  it("K40: the list shrinks, then grows: the missing instance is removed and blocks nobody", () => {
    const rig = mapped(["all_success"]);
    rig.run("list", list(5));
    rig.drain();
    expect(rig.progress.state).toBe("success");

    rig.clear("list", "load", "all_success");
    rig.run("list", list(4));
    expect(rig.names().filter((name) => name.startsWith("load"))).toHaveLength(4);
    expect(rig.cell("load[4]")).toMatchObject({ state: "removed", try: 1 });
    rig.drain();
    expect(rig.progress.state).toBe("success");
    expect(rig.cell("load[3]").try).toBe(2);

    rig.clear("list", "load", "all_success");
    rig.run("list", list(6));
    rig.drain();
    expect(rig.progress.state).toBe("success");
    expect(rig.stateOf(...Array.from({ length: 6 }, (_, i) => `load[${i}]`))).toEqual(
      Array.from({ length: 6 }, () => "success"),
    );
    expect([rig.cell("load[4]").try, rig.cell("load[5]").try]).toEqual([2, 1]);
    expect(rig.progress.open).toBe(0);
  });

  it("one instance is cleared alone", () => {
    const rig = mapped(["all_success"]);
    rig.run("list", list(3));
    rig.drain();
    rig.clear("load[1]");
    expect(rig.stateOf("load[0]", "load[1]", "load[2]", "all_success")).toEqual([
      "success",
      "queued",
      "success",
      "success",
    ]);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("A6: one instance is cleared alone although none of them is done: the others run, and wait, on", () => {
    const rig = mapped([], {}, { wait: { kind: "event" } });
    rig.run("list", list(3));
    const effects = rig.clear("load[1]");
    expect(effects.map(({ kind }) => kind)).toEqual(["record", "record", "defer"]);
    expect(rig.cell("load[1]")).toMatchObject({ state: "deferred", try: 2 });
    expect([rig.cell("load[0]").try, rig.cell("load[2]").try]).toEqual([1, 1]);

    const running = mapped([]);
    running.run("list", list(2));
    for (const name of ["load[0]", "load[1]"]) running.send({ kind: "granted", ...running.at(name), try: 1 });
    expect(running.clear("load[1]").map(({ kind }) => kind)).toEqual(["stop"]);
    expect(running.cell("load[0]")).toMatchObject({ state: "running", try: 1 });
  });

  it("an empty list that has items when it is made again: the whole task's cell goes", () => {
    const rig = mapped([]);
    rig.run("list", list(0));
    expect(rig.progress.state).toBe("success");
    rig.clear("list", "load");
    const effects = rig.run("list", list(2));
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: "record", task: 1, index: -1, state: "removed" }),
    );
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("cleared with its list while instances run: they are stopped, and the new ones wait for their end", () => {
    const rig = mapped(["all_success"]);
    rig.run("list", list(3));
    rig.send({ kind: "granted", task: 1, index: 0, try: 1 });
    rig.run("load[1]");
    const effects = rig.clear("list", "load", "all_success");
    expect(effects).toContainEqual({ kind: "stop", task: 1, index: 0, try: 1 });
    rig.run("list", list(2));
    expect(rig.names()).toContain("load");
    rig.send({ kind: "ended", task: 1, index: 0, try: 1, outcome: { kind: "cancelled", message: "" } });
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["queued", "queued"]);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
    expect([rig.cell("load[0]").try, rig.cell("load[1]").try, rig.cell("load[2]").state]).toEqual([
      2,
      2,
      "removed",
    ]);
  });

  /** t1 → t2, both of one map over `list`; t2 waits for x besides. */
  const pair = (more: Partial<RunTask> = {}): Rig =>
    new Rig({
      tasks: [
        task("list"),
        task("x"),
        task("t1", [0], { map: 0, items: { item: "item" } }),
        task("t2", [1, 2], { map: 0, ...more }),
      ],
      maps: [over(0, { group: 0 })],
    });

  it("a group whose list is lost or is none ends, whatever the rules of the tasks in it", () => {
    for (const triggerRule of ["all_done", "one_done", "always", "none_skipped"] as const) {
      for (const outcome of [failed, skipped, { ...success, measured: { not: "null" } }]) {
        const rig = pair({ triggerRule });
        rig.run("x");
        rig.run("list", outcome);
        rig.drain();
        expect([rig.progress.open, rig.progress.state === "running"], triggerRule).toEqual([0, false]);
      }
    }
  });

  it("a task marked success lets a mapped one go on that could not run before", () => {
    const rig = new Rig({
      tasks: [task("list"), task("x"), task("load", [0, 1], { map: 0, items: { item: "item" } })],
      maps: [over(0)],
    });
    rig.run("x", failed);
    rig.run("list", list(3));
    rig.mark("success", "x");
    rig.drain();
    expect([rig.progress.state, rig.names().length]).toEqual(["success", 5]);
  });

  it("a task of a group that was told as a whole is mapped out like the others, and cleared with them", () => {
    const rig = pair();
    rig.run("x", failed);
    rig.run("list", list(3));
    rig.drain();
    expect(rig.stateOf("t1[0]", "t2")).toEqual(["success", "upstream_failed"]);
    const one = select(rig.plan, rig.progress, { tasks: [{ taskId: "t1", mapIndex: 1 }], downstream: true });
    expect(one).toMatchObject({
      kind: "cells",
      cells: [
        { task: 2, index: 1 },
        { task: 3, index: -1 },
      ],
    });
    rig.clear("list");
    rig.run("list", list(5));
    rig.clear("x");
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
    expect(rig.names().filter((name) => name.startsWith("t2"))).toHaveLength(3);
  });

  it("K40: the list alone, then the mapped task: it is mapped out over the list as it is now", () => {
    for (const [before, after] of [
      [3, 1],
      [2, 4],
    ] as const) {
      const rig = mapped(["all_success"]);
      rig.run("list", list(before));
      rig.drain();
      rig.clear("list");
      rig.run("list", list(after));
      rig.clear("load", "all_success");
      rig.drain();
      expect(rig.names().filter((name) => name.startsWith("load"))).toHaveLength(after);
      expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
    }
  });

  it("K40: a list that is empty now: the instances of before are removed", () => {
    const rig = mapped([]);
    rig.run("list", list(2));
    rig.drain();
    rig.clear("list", "load");
    const effects = rig.run("list", list(0));
    expect(rig.stateOf("load")).toEqual(["skipped"]);
    for (const index of [0, 1])
      expect(effects).toContainEqual(
        expect.objectContaining({ kind: "record", task: 1, index, state: "removed" }),
      );
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("a cleared instance makes room for one that is held", () => {
    const rig = new Rig({
      tasks: [
        task("pre", [], { map: 0, items: { item: "item" } }),
        task("load", [0], { map: 0, concurrency: 1 }),
      ],
      maps: [over([1, 2], { group: 0 })],
    });
    rig.run("pre[0]");
    rig.run("pre[1]");
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["queued", "none"]);
    rig.clear("pre[0]", "load[0]");
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["none", "queued"]);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });
});
