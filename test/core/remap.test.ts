import { describe, expect, it } from "vitest";
import { planOf, type RunGraph, type RunTask } from "../../core/plan.ts";
import { pack, unpack } from "../../core/packed.ts";
import { remap } from "../../core/remap.ts";
import { command } from "../../core/run-command.ts";
import { failed, list, over, skipped } from "./mapped-rig.ts";
import { Rig, success, task } from "./run-rig.ts";

const loads = (source = 0, more: Partial<RunTask> = {}): RunTask =>
  task("load", [source], { map: 0, items: { item: "item" }, ...more });

describe("B2 B9: a run that is over goes on with another version", () => {
  it("B2: what is in both keeps its cell wherever it stands; what is gone is removed, what is new begins", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0], { retries: 1 }), task("d")] });
    rig.run("a");
    rig.drain((name) => (name === "b" ? failed : success));
    expect(rig.progress.state).toBe("failed");
    const changes = rig.moveTo({ tasks: [task("new"), task("b", [2]), task("a"), task("c", [1])] });
    expect(rig.stateOf("a", "b", "c", "new")).toEqual(["success", "failed", "none", "none"]);
    expect(rig.cell("b").try).toBe(1);
    expect(changes.fresh).toEqual([0, 3]);
    expect(changes.removed).toEqual([{ taskId: "d", mapIndex: -1, state: "success", try: 1 }]);
    expect(changes.records).toEqual([
      { seq: 4, taskId: "d", mapIndex: -1, try: 1, state: "removed", ended: null, gone: true },
    ]);
    expect([rig.progress.open, rig.progress.seq]).toEqual([2, 4]);
    rig.clear("b", "new", "c");
    expect(rig.stateOf("a", "b", "c", "new")).toEqual(["success", "queued", "none", "queued"]);
    expect(rig.cell("b").try).toBe(2);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("B2: a task that comes back goes on with its tries, over a stored progress too", () => {
    const [both, one] = [{ tasks: [task("a"), task("d")] }, { tasks: [task("a")] }];
    const rig = new Rig(both);
    rig.drain();
    rig.moveTo(one);
    rig.clear("a");
    rig.drain();
    rig.progress = unpack(structuredClone(pack(rig.progress)));
    const changes = rig.moveTo(both);
    expect([changes.fresh, changes.removed]).toEqual([[1], []]);
    expect(changes.records).toMatchObject([{ taskId: "d", mapIndex: -1, state: "none" }]);
    expect(rig.progress.removed).toBeUndefined();
    rig.clear("d");
    rig.drain();
    expect([rig.cell("a").try, rig.cell("d").try]).toEqual([2, 2]);
  });

  it("A7: the same lists: instances stay, a new task of their group gets as many", () => {
    const maps = [over(0, { group: 0 })];
    const rig = new Rig({ tasks: [task("list"), loads()], maps });
    rig.run("list", list(3));
    rig.drain((name) => (name === "load[1]" ? failed : success));
    const changes = rig.moveTo({
      tasks: [task("other"), task("list"), loads(1), task("more", [2], { map: 0 })],
      maps: [over(1, { group: 0 })],
    });
    expect(changes.fresh).toEqual([0, 3]);
    expect(rig.stateOf("load[0]", "load[1]", "load[2]")).toEqual(["success", "failed", "success"]);
    rig.clear("load[1]", "other", "more");
    expect(rig.stateOf("more[0]", "more[1]", "more[2]")).toEqual(["queued", "none", "queued"]);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  const other: [string, RunGraph][] = [
    ["it is not mapped any more", { tasks: [task("list"), task("load", [0])] }],
    ["another list", { tasks: [task("list"), task("else"), loads(1)], maps: [over(1)] }],
    ["a constant list", { tasks: [task("list"), loads()], maps: [over([1, 2, 3])] }],
    ["in batches", { tasks: [task("list"), loads()], maps: [over(0, { batch: 2 })] }],
    ["in a group", { tasks: [task("list"), loads()], maps: [over(0, { group: 0 })] }],
    ["it decides", { tasks: [task("list"), loads(0, { decides: "branch" })], maps: [over(0)] }],
    [
      "its list decides",
      { tasks: [task("list", [], { decides: "short_circuit" }), loads()], maps: [over(0)] },
    ],
  ];
  it.each(other)("A7: a mapped task begins anew: %s", (_, graph) => {
    const rig = new Rig({ tasks: [task("list"), loads()], maps: [over(0)] });
    rig.run("list", list(3));
    rig.drain();
    const changes = rig.moveTo(graph);
    const load = rig.at("load").task;
    expect(changes.fresh).toContain(load);
    expect(changes.removed.filter(({ taskId }) => taskId === "load")).toHaveLength(3);
    rig.clear(...changes.fresh.map((position) => rig.plan.tasks[position]!.id));
    rig.drain((name) => (["list", "else"].includes(name) ? list(2) : success));
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
    const [whole, instances] = [rig.cell("load"), rig.progress.tasks[load]!.instances!];
    if (rig.plan.tasks[load]!.map === undefined) expect([whole.state, whole.try]).toEqual(["success", 1]);
    else expect(instances[0]).toMatchObject({ state: "success", try: 2 });
    // Each number of a try is used once, also by a version after that.
    rig.moveTo({ tasks: [task("list"), loads()], maps: [over(0)] });
    expect(rig.progress.tasks[1]!.instances!.map((cell) => cell.try)).toEqual(
      instances.map((cell) => cell.try),
    );
  });

  it("A7: groups that become one begin anew: theirs may be lists of different lengths", () => {
    const each = (id: string, map: number): RunTask => task(id, [0], { map, items: { item: "item" } });
    const rig = new Rig({
      tasks: [task("list"), each("x", 0), each("y", 1)],
      maps: [over(0, { group: 0 }), over(0, { group: 1 })],
    });
    rig.run("list", list(2));
    rig.drain();
    rig.clear("list", "x");
    rig.run("list", list(3));
    rig.drain();
    expect(rig.names()).toHaveLength(1 + 3 + 2);
    const changes = rig.moveTo({
      tasks: [task("list"), each("x", 0), each("y", 0)],
      maps: [over(0, { group: 0 })],
    });
    expect(changes.fresh).toEqual([1, 2]);
    rig.clear("x", "y");
    rig.drain();
    expect(rig.names()).toHaveLength(1 + 3 + 3);
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("A7: a task that is mapped now, over an output that was no list before: both begin anew", () => {
    const rig = new Rig({ tasks: [task("list"), task("load", [0])] });
    rig.drain();
    const changes = rig.moveTo({ tasks: [task("list"), loads()], maps: [over(0)] });
    expect(changes.fresh).toEqual([0, 1]);
    expect(changes.records).toMatchObject([
      { taskId: "list", mapIndex: -1, try: 1, state: "none" },
      { taskId: "load", mapIndex: -1, try: 1, state: "none" },
    ]);
    rig.clear("list", "load");
    const effects = rig.run("list", list(2));
    // The cell of the task as a whole gives way to those of its instances.
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: "record", task: 1, index: -1, state: "removed" }),
    );
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["success", "success"]);
  });

  it("A7: the size of a list goes along", () => {
    const rig = new Rig({ tasks: [task("list"), loads()], maps: [over(0)] });
    rig.run("list", list(2));
    rig.drain();
    rig.moveTo({ tasks: [task("a"), task("list"), loads(1)], maps: [over(1)] });
    expect(rig.progress.measured).toEqual({ 1: { items: 2 } });
    rig.clear("a", "load");
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["queued", "queued"]);
  });

  it("K27: what a branch chose counts for tasks that are new behind it; a plain task that is a branch now runs again", () => {
    const branch = task("pick", [], { decides: "branch" });
    const rig = new Rig({ tasks: [branch, task("x", [0]), task("y", [0])] });
    rig.run("pick", { ...success, follow: ["x"] });
    rig.drain();
    rig.moveTo({ tasks: [task("first"), branch, task("new", [1]), task("y", [1]), task("x", [1])] });
    expect(rig.cell("pick").follow).toEqual([4]);
    rig.clear("first", "new", "y", "x");
    rig.drain();
    expect(rig.stateOf("new", "y", "x")).toEqual(["skipped", "skipped", "success"]);
    rig.moveTo({ tasks: [branch, task("new", [0])] });
    expect(rig.cell("pick").follow).toEqual([-1]);

    const plain = new Rig({ tasks: [task("pick"), task("x", [0])] });
    plain.drain();
    expect(plain.moveTo({ tasks: [branch, task("x", [0])] }).fresh).toEqual([0]);
  });

  it("B8 A11: what could not run, or stands around what is new, runs with it", () => {
    const around = [task("setup", [], { setup: true }), task("work", [0])];
    const down = task("down", [0, 1], { teardown: [0] });
    const rig = new Rig({ tasks: [...around, down, task("bad"), task("z", [3])] });
    rig.drain((name) => (name === "bad" ? failed : success));
    expect(rig.stateOf("z")).toEqual(["upstream_failed"]);
    const second = [
      task("more", [0]),
      task("down", [0, 1, 2], { teardown: [0] }),
      task("good"),
      task("z", [4]),
    ];
    const { progress, ...changes } = remap(rig.plan, planOf({ tasks: [...around, ...second] }), rig.progress);
    const plan = planOf({ tasks: [...around, ...second] });
    const selection = { tasks: [{ taskId: "more" }] };
    const done = command(plan, progress, { id: "1", kind: "clear", selection }, changes);
    expect(done).toMatchObject({ kind: "done", answer: { cells: 4, removed: 1 } });
    if (done.kind !== "done") return;
    const requested = done.effects.flatMap((one) =>
      one.kind === "request" ? [plan.tasks[one.task]!.id] : [],
    );
    expect(requested).toEqual(["setup", "good"]);
    expect(done.progress.tasks[plan.positions.get("z")!]!.own.state).toBe("none");
  });

  it("nothing to run is refused; a task that is no more cannot be named; an answer is remembered", () => {
    const rig = new Rig({ tasks: [task("a"), task("d")] });
    rig.drain((name) => (name === "d" ? skipped : success));
    const plan = planOf({ tasks: [task("a")] });
    const { progress, ...changes } = remap(rig.plan, plan, rig.progress);
    const clear = (selection: object, id = "1") =>
      command(plan, progress, { id, kind: "clear", selection: { tasks: [], ...selection } }, changes);
    expect(clear({ onlyFailed: true })).toMatchObject({ kind: "refused", code: "nothing_to_do" });
    expect(clear({ tasks: [{ taskId: "d" }] })).toMatchObject({ kind: "refused", code: "no_task" });
    const done = clear({});
    expect(done).toMatchObject({ kind: "done", answer: { cells: 1, removed: 1 } });
    if (done.kind !== "done") return;
    const again = command(plan, done.progress, { id: "1", kind: "clear", selection: { tasks: [] } });
    expect(again).toEqual({ kind: "repeat", answer: { cells: 1, removed: 1 } });
  });
});
