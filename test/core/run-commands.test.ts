import { describe, expect, it } from "vitest";
import type { TryOutcome } from "../../core/progress.ts";
import { askedOf } from "../../core/plan.ts";
import { Rig, success, task } from "./run-rig.ts";

const error = { code: "x", message: "m", retryable: true };
const failed: TryOutcome = { kind: "failed", error: { ...error, retryable: false } };
const cancelled: TryOutcome = { kind: "cancelled", message: "stopped" };
const follow = (...ids: string[]): TryOutcome => ({ ...success, follow: ids });

describe("A4: branches", () => {
  /** branch → t1, branch → join, t1 → join */
  const fork = (triggerRule: "all_success" | "none_failed_min_one_success" = "all_success"): Rig =>
    new Rig({
      tasks: [
        task("branch", [], { decides: "branch" }),
        task("t1", [0]),
        task("join", [0, 1], { triggerRule }),
      ],
    });

  it("K28: a join that is a target too runs after the chosen way", () => {
    const rig = fork();
    rig.run("branch", follow("t1"));
    expect(rig.stateOf("t1", "join")).toEqual(["queued", "none"]);
    rig.drain();
    expect(rig.stateOf("t1", "join")).toEqual(["success", "success"]);
  });

  it("K28: chosen itself: the way round is skipped, and its rule says what that means", () => {
    const strict = fork();
    strict.run("branch", follow("join"));
    expect(strict.stateOf("t1", "join")).toEqual(["skipped", "skipped"]);
    const lenient = fork("none_failed_min_one_success");
    lenient.run("branch", follow("join"));
    lenient.drain();
    expect(lenient.stateOf("t1", "join")).toEqual(["skipped", "success"]);
    lenient.clear("join");
    lenient.drain();
    expect(lenient.cell("join")).toMatchObject({ state: "success", try: 2 });
  });

  it("A4: a short circuit skips all that follows, whatever its rule", () => {
    const rig = new Rig({
      tasks: [
        task("goes_on", [], { decides: "short_circuit" }),
        task("a", [0]),
        task("b", [1], { triggerRule: "all_done" }),
        task("beside"),
      ],
    });
    rig.run("goes_on", follow());
    expect(rig.stateOf("a", "b", "beside")).toEqual(["skipped", "skipped", "queued"]);
  });

  it("K30: a skipped task is cleared: skipped again without a try; with its branch: as it chooses then", () => {
    const rig = new Rig({
      tasks: [task("branch", [], { decides: "branch" }), task("b", [0]), task("c", [0])],
    });
    rig.run("branch", follow("b"));
    rig.drain();
    expect(rig.stateOf("b", "c")).toEqual(["success", "skipped"]);
    rig.clear("c");
    expect(rig.cell("c")).toMatchObject({ state: "skipped", try: 0 });
    rig.clear("branch", "b", "c");
    rig.run("branch", follow("c"));
    rig.drain();
    expect(rig.stateOf("b", "c")).toEqual(["skipped", "success"]);
    expect(rig.progress.open).toBe(0);
  });
});

describe("B9: clear", () => {
  it("K31: a cleared task has its retries again: tries 1 2 3, then 4 5 6", () => {
    const rig = new Rig({ tasks: [task("a", [], { retries: 2 })] });
    const twice = (_: string, number: number): TryOutcome =>
      number % 3 === 0 ? success : { kind: "failed", error };
    rig.drain(twice);
    expect(rig.cell("a")).toMatchObject({ state: "success", try: 3, retries: 2 });
    rig.clear("a");
    rig.drain(twice);
    expect(rig.cell("a")).toMatchObject({ state: "success", try: 6, retries: 2 });
  });

  it("K32: cleared while it runs: the old try is stopped before the new one begins, though there are no retries", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0])] });
    rig.send({ kind: "granted", task: 0, index: -1, try: 1 });
    expect(rig.clear("a")).toEqual([{ kind: "stop", task: 0, index: -1, try: 1 }]);
    expect(rig.clear("a"), "a second time").toEqual([]);
    const after = rig.send({ kind: "ended", task: 0, index: -1, try: 1, outcome: cancelled });
    expect(after).toEqual([
      expect.objectContaining({ kind: "record", state: "none", try: 1 }),
      { kind: "request", task: 0, index: -1, try: 2 },
    ]);
    rig.drain();
    expect(rig.stateOf("a", "b")).toEqual(["success", "success"]);
  });

  it("B8: clearing the failed task lets the rest of the run proceed", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0]), task("c", [1]), task("d", [], {})] });
    rig.run("d");
    rig.run("a", failed);
    expect(rig.progress.state).toBe("failed");
    rig.clear("a");
    expect(rig.stateOf("a", "b", "c", "d")).toEqual(["queued", "none", "none", "success"]);
    rig.drain();
    expect([rig.progress.state, rig.progress.open]).toEqual(["success", 0]);
  });

  it("a queued and a delayed try are taken back; what was told of them counts for nothing", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0], { retries: 3 })] });
    rig.run("a");
    rig.clear("a", "b");
    expect(rig.stateOf("a", "b")).toEqual(["queued", "none"]);
    expect(rig.send({ kind: "granted", task: 1, index: -1, try: 1 })).toEqual([]);
    rig.run("a");
    rig.run("b", { kind: "failed", error });
    rig.clear("b");
    expect(rig.cell("b")).toMatchObject({ state: "queued", try: 3, retries: 0 });
    expect(rig.send({ kind: "due", task: 1, index: -1, try: 2 })).toEqual([]);
    rig.drain();
    expect(rig.progress.open).toBe(0);
  });

  it("only what was chosen runs again", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0]), task("c", [1])] });
    rig.drain();
    rig.clear("b");
    rig.drain();
    expect(["a", "b", "c"].map((name) => rig.cell(name).try)).toEqual([1, 2, 1]);
  });
});

describe("B9: mark", () => {
  it("success lets what waited for it run; a running body is stopped and its result refused", () => {
    const rig = new Rig({ tasks: [task("a"), task("b", [0]), task("c", [1])] });
    rig.run("a", failed);
    rig.mark("success", "a");
    expect(rig.stateOf("a", "b", "c")).toEqual(["success", "queued", "none"]);
    rig.send({ kind: "granted", task: 1, index: -1, try: 1 });
    expect(rig.mark("failed", "b")).toEqual([{ kind: "stop", task: 1, index: -1, try: 1 }]);
    rig.send({ kind: "ended", task: 1, index: -1, try: 1, outcome: success });
    expect(rig.stateOf("b", "c")).toEqual(["failed", "upstream_failed"]);
    expect([rig.progress.state, rig.progress.open]).toEqual(["failed", 0]);
  });
});

describe("B9: what a command reaches besides", () => {
  it("what could not run because of a cleared task runs with its own setup again", () => {
    const one = new Rig({
      tasks: [
        task("a"),
        task("setup", [], { setup: true }),
        task("work", [0, 1]),
        task("teardown", [1, 2], { teardown: [1] }),
      ],
    });
    one.drain((name, number) => (name === "a" && number === 1 ? failed : success));
    expect(one.states()).toEqual(["failed", "success", "upstream_failed", "success"]);
    one.clear("a");
    one.drain();
    expect(["a", "setup", "work", "teardown"].map((name) => one.cell(name).try)).toEqual([2, 2, 1, 2]);
    expect([one.progress.state, one.progress.open]).toEqual(["success", 0]);
  });

  it("a run that was ended by hand and is cleared runs what it never began", () => {
    const one = new Rig({ tasks: [task("a"), task("b", [0])] });
    one.send({ kind: "granted", task: 0, index: -1, try: 1 });
    one.send({ kind: "end", as: "failed", reason: "by hand" });
    one.send({ kind: "ended", task: 0, index: -1, try: 1, outcome: cancelled });
    expect(one.states()).toEqual(["failed", "cancelled"]);
    one.clear("a");
    one.drain();
    expect([one.progress.state, ...one.states()]).toEqual(["success", "success", "success"]);
  });

  it("marked success at the moment it ends well: its choice and its list are kept", () => {
    const one = new Rig({
      tasks: [task("branch", [], { decides: "branch" }), task("a", [0]), task("b", [0])],
    });
    one.send({ kind: "granted", task: 0, index: -1, try: 1 });
    one.mark("success", "branch");
    one.send({ kind: "ended", task: 0, index: -1, try: 1, outcome: follow("a") });
    one.drain();
    expect(one.stateOf("a", "b")).toEqual(["success", "skipped"]);
  });
});

describe("A4: setup and teardown", () => {
  const rig = (): Rig =>
    new Rig({
      tasks: [
        task("setup", [], { setup: true }),
        task("work", [0], { retries: 3 }),
        task("teardown", [0, 1], { teardown: [0] }),
      ],
    });
  const granted = (one: Rig, name: string): void =>
    void one.send({ kind: "granted", ...one.at(name), try: one.cell(name).try });
  const ends = (one: Rig, name: string, outcome: TryOutcome): void =>
    void one.send({ kind: "ended", ...one.at(name), try: one.cell(name).try, outcome });

  it("A4: it runs after success and after failure, and does not decide the run", () => {
    const good = rig();
    good.drain();
    expect([good.progress.state, ...good.states()]).toEqual(["success", "success", "success", "success"]);
    const bad = rig();
    bad.run("setup");
    bad.run("work", failed);
    expect(bad.stateOf("teardown")).toEqual(["queued"]);
    bad.run("teardown");
    expect(bad.progress.state).toBe("failed");
    const untidy = rig();
    untidy.drain((name) => (name === "teardown" ? failed : success));
    expect([untidy.progress.state, ...untidy.states()]).toEqual(["success", "success", "success", "failed"]);
    const early = rig();
    early.run("setup", failed);
    expect([early.progress.state, ...early.states()]).toEqual([
      "failed",
      "failed",
      "upstream_failed",
      "upstream_failed",
    ]);
  });

  it("K29: a run that is failed by hand while work runs: work stops, the teardown runs once", () => {
    const one = rig();
    one.run("setup");
    granted(one, "work");
    expect(one.send({ kind: "end", as: "failed", reason: "by hand" })).toEqual([
      { kind: "stop", task: 1, index: -1, try: 1 },
    ]);
    ends(one, "work", cancelled);
    expect(one.states()).toEqual(["success", "failed", "queued"]);
    one.drain();
    expect([one.progress.state, ...one.states()]).toEqual(["failed", "success", "failed", "success"]);
    expect(one.effects.filter(({ kind }) => kind === "start")).toHaveLength(3);
  });

  it("K29: failed by hand while the setup runs: nothing to take away", () => {
    const one = rig();
    granted(one, "setup");
    one.send({ kind: "end", as: "failed", reason: "by hand" });
    ends(one, "setup", cancelled);
    expect([one.progress.state, ...one.states()]).toEqual(["failed", "failed", "cancelled", "skipped"]);
  });

  it("K77: cancelled twice: the teardown goes on and completes once", () => {
    const one = rig();
    one.run("setup");
    granted(one, "work");
    one.send({ kind: "end", as: "cancelled", reason: "by hand" });
    ends(one, "work", cancelled);
    granted(one, "teardown");
    expect(one.send({ kind: "end", as: "cancelled", reason: "again" })).toEqual([]);
    ends(one, "teardown", success);
    expect([one.progress.state, ...one.states()]).toEqual(["cancelled", "success", "cancelled", "success"]);
    expect(one.progress.ending).toMatchObject({ reason: "by hand" });
  });

  it("A4: a branch before a teardown does not choose it away, nor is it asked about it", () => {
    const one = new Rig({
      tasks: [
        task("setup", [], { setup: true }),
        task("branch", [0], { decides: "branch" }),
        task("work", [1]),
        task("teardown", [0, 1, 2], { teardown: [0] }),
      ],
    });
    expect(askedOf(one.plan, 1)).toEqual({ asked: { decides: { kind: "branch", among: ["work"] } } });
    one.run("setup");
    one.run("branch", follow());
    expect(one.stateOf("work", "teardown")).toEqual(["skipped", "queued"]);
  });

  it("A4: in a mapped group each instance has its own", () => {
    const one = new Rig({
      tasks: [
        task("setup", [], { setup: true, map: 0, items: { item: "item" } }),
        task("work", [0], { map: 0 }),
        task("teardown", [0, 1], { teardown: [0], map: 0 }),
      ],
      maps: [{ group: 0, over: { item: [1, 2] }, how: "product", batch: null, max: 10 }],
    });
    one.run("setup[0]", failed);
    one.run("setup[1]");
    one.run("work[1]", failed);
    one.drain();
    expect(one.stateOf("teardown[0]", "teardown[1]")).toEqual(["upstream_failed", "success"]);
    expect(one.progress.state).toBe("failed");
  });
});

describe("A5: what follows a failure", () => {
  const rules = (retryRules: NonNullable<Parameters<typeof task>[2]>["retryRules"]): Rig =>
    new Rig({ tasks: [task("a", [], { retries: 1, ...(retryRules !== undefined && { retryRules }) })] });
  const broken = (code: string, more = {}): TryOutcome => ({
    kind: "failed",
    error: { code, message: "", retryable: true, ...more },
  });

  it("A5: rules by the kind of error: fail at once, another delay, wait without using up a retry", () => {
    const fail = rules([{ error: "BadInput", action: "fail" }]);
    fail.run("a", broken("BadInput"));
    expect(fail.states()).toEqual(["failed"]);
    const later = rules([{ error: "Busy", action: "retry", delayMs: 77 }]);
    expect(later.run("a", broken("Busy"))).toContainEqual(
      expect.objectContaining({ kind: "wait", delayMs: 77 }),
    );
    const wait = rules([{ error: "*", action: "wait", delayMs: 5 }]);
    for (let number = 1; number < 20; number++) {
      expect(wait.run("a", broken("Busy"))).toContainEqual(
        expect.objectContaining({ kind: "wait", delayMs: 5 }),
      );
      wait.send({ kind: "due", task: 0, index: -1, try: number });
    }
    expect(wait.cell("a")).toMatchObject({ try: 20, retries: 0 });
  });

  it("A5: the error's own word outweighs the rules", () => {
    const rig = rules([{ error: "*", action: "fail" }]);
    expect(rig.run("a", broken("x", { retryDelayMs: 9, waits: true }))).toContainEqual(
      expect.objectContaining({ kind: "wait", delayMs: 9 }),
    );
    rig.send({ kind: "due", task: 0, index: -1, try: 1 });
    rig.run("a", broken("x", { retryable: false }));
    expect(rig.states()).toEqual(["failed"]);
  });
});
