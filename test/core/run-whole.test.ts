import { describe, expect, it } from "vitest";
import type { TryOutcome } from "../../core/progress.ts";
import { Rig, task } from "./run-rig.ts";

const failed: TryOutcome = { kind: "failed", error: { code: "x", message: "m", retryable: false } };

describe("A5: a run as a whole", () => {
  const rig = (runRetries: number): Rig =>
    new Rig({ tasks: [task("a"), task("b", [0]), task("c")], runRetries, runRetryDelayMs: 500 });

  it("A5: what failed runs again after the delay, as often as allowed; what succeeded does not", () => {
    const run = rig(2);
    run.run("c");
    expect(run.run("a", failed)).toContainEqual(expect.objectContaining({ kind: "rest", delayMs: 500 }));
    expect(run.progress.state).toBe("running");
    run.send({ kind: "rerun", rerun: 1 });
    expect(run.stateOf("a", "b", "c")).toEqual(["queued", "none", "success"]);
    expect(run.send({ kind: "rerun", rerun: 1 }), "only once").toEqual([]);
    expect(run.run("a", failed)).toContainEqual(expect.objectContaining({ kind: "rest", delayMs: 500 }));
    expect(run.send({ kind: "rerun", rerun: 1 }), "that of before").toEqual([]);
    run.send({ kind: "rerun", rerun: 2 });
    expect(run.run("a", failed)).toContainEqual({ kind: "close", state: "failed" });
    expect(["a", "b", "c"].map((name) => run.cell(name).try)).toEqual([3, 0, 1]);
  });

  it("A5: a run that succeeds the second time is a success; a command in the rest takes its place", () => {
    const run = rig(1);
    run.run("c");
    run.run("a", failed);
    run.clear("a");
    expect(run.progress.resting).toBe(false);
    expect(run.send({ kind: "rerun", rerun: 1 })).toEqual([]);
    run.drain();
    expect([run.progress.state, run.progress.open]).toEqual(["success", 0]);
  });

  it("A5: a run that is ended, by hand or by its time-out, does not begin again", () => {
    const run = rig(5);
    run.run("c");
    run.run("a", failed);
    expect(run.send({ kind: "end", as: "failed", reason: "it took too long" })).toContainEqual({
      kind: "close",
      state: "failed",
    });
    expect(run.send({ kind: "rerun", rerun: 1 })).toEqual([]);
    const short = rig(5);
    short.send({ kind: "end", as: "failed", reason: "it took too long" });
    expect([short.progress.state, ...short.states()]).toEqual([
      "failed",
      "cancelled",
      "cancelled",
      "cancelled",
    ]);
  });

  it("A5: a map that is refused again and again ends the run; setups are made again with what failed", () => {
    const refused = new Rig({
      tasks: [task("list"), task("t", [0], { map: 0, items: { item: "item" } })],
      maps: [{ group: null, over: { item: 0 }, how: "product", batch: null, max: 9 }],
      runRetries: 1,
    });
    refused.run("list", { kind: "success", output: null, measured: { not: "null" } });
    refused.send({ kind: "rerun", rerun: 1 });
    expect(refused.progress).toMatchObject({ state: "failed", open: 0 });
    const tidy = new Rig({
      tasks: [
        task("setup", [], { setup: true }),
        task("work", [0]),
        task("teardown", [0, 1], { teardown: [0] }),
      ],
      runRetries: 1,
    });
    tidy.drain((name, number) =>
      name === "work" && number === 1 ? failed : { kind: "success", output: null },
    );
    tidy.send({ kind: "rerun", rerun: 1 });
    tidy.drain();
    expect(["setup", "work", "teardown"].map((name) => tidy.cell(name).try)).toEqual([2, 2, 2]);
    expect(tidy.progress.state).toBe("success");
  });
});
