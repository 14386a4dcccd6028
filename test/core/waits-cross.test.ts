/** Ends of waits that cross with what their runs know (K39). */
import { describe, expect, it } from "vitest";
import type { TryOutcome } from "../../core/progress.ts";
import type { RunTask } from "../../core/plan.ts";
import type { RunWait, WaitEnd } from "../../core/waits.ts";
import { Rig, task } from "./run-rig.ts";

const forEvent: TryOutcome = { kind: "deferred", deferral: { on: "event", timeoutMs: null } };
const done: WaitEnd = { kind: "success" };
const goesOn: WaitEnd = { kind: "resume" };
const late: WaitEnd = { kind: "expired", message: "too late" };
const event: { wait: RunWait } = { wait: { kind: "event", timeoutMs: 1000 } };

describe("K39 A6: an end that comes before its run knows that the try waits", () => {
  const running = (more: Partial<RunTask> = {}): Rig => {
    const rig = new Rig({ tasks: [task("a", [], more)] });
    rig.send({ kind: "granted", ...rig.at("a"), try: 1 });
    return rig;
  };

  it("regression K39: it is kept, and counts as soon as the run hears that the try waits", () => {
    const rig = running();
    rig.send({ kind: "woken", ...rig.at("a"), try: 1, wait: 1, end: goesOn });
    expect(rig.cell("a").state).toBe("running");
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: forEvent });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 1, waits: 1 });
    expect(rig.cell("a").early).toBeUndefined();
    // Of a second wait likewise; of one that is not the next, nothing is kept.
    rig.send({ kind: "granted", ...rig.at("a"), try: 1, wait: 1 });
    rig.send({ kind: "woken", ...rig.at("a"), try: 1, wait: 1, end: late });
    expect(rig.cell("a").early).toBeUndefined();
    rig.send({ kind: "woken", ...rig.at("a"), try: 1, wait: 2, end: late });
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: forEvent });
    expect(rig.progress.state).toBe("failed");
  });

  it("regression K39: it goes with its try, when that ends otherwise", () => {
    const rig = running({ retries: 1 });
    rig.send({ kind: "woken", ...rig.at("a"), try: 1, wait: 1, end: goesOn });
    const error = { code: "x", message: "", retryable: true };
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: { kind: "failed", error } });
    expect(rig.cell("a")).toMatchObject({ state: "up_for_retry" });
    expect(rig.cell("a").early).toBeUndefined();
  });
});

describe("K39 A6: ends of waits that come twice, late, or for another", () => {
  const states: readonly (readonly [string, () => Rig, number, number])[] = [
    ["twice", () => ended(new Rig({ tasks: [task("a", [], event), task("b", [0])] })), 1, 1],
    ["of an older try", () => cleared(), 1, 1],
    ["of an older wait of the try", () => again(), 1, 1],
    ["of a wait that has not begun", () => new Rig({ tasks: [task("a", [], event)] }), 1, 2],
    ["of a body that goes on already", () => resumed(), 1, 1],
  ];
  const ended = (rig: Rig): Rig => (rig.wake("a", done), rig);
  const cleared = (): Rig => {
    const rig = new Rig({ tasks: [task("a", [], event)] });
    rig.wake("a", late);
    rig.clear("a");
    expect(rig.cell("a")).toMatchObject({ state: "deferred", try: 2, waits: 1 });
    return rig;
  };
  const resumed = (): Rig => {
    const rig = new Rig({ tasks: [task("a")] });
    rig.run("a", forEvent);
    rig.wake("a", goesOn);
    return rig;
  };
  const again = (): Rig => {
    const rig = resumed();
    rig.run("a", forEvent);
    return rig;
  };

  it.each(states)("K39 A6: %s: nothing changes", (_name, make, number, wait) => {
    const rig = make();
    for (const end of [done, goesOn, late]) {
      const before = rig.progress;
      expect(rig.send({ kind: "woken", ...rig.at("a"), try: number, wait, end })).toEqual([]);
      expect(rig.progress).toEqual(before);
    }
  });

  it("K39 A6: after the run has ended, and of a cell that does not exist", () => {
    const rig = new Rig({ tasks: [task("a", [], event)] });
    rig.send({ kind: "woken", task: 7, index: 3, try: 1, wait: 1, end: done });
    rig.wake("a", done);
    expect(rig.progress.state).toBe("success");
    expect(rig.wake("a", done)).toEqual([]);
  });
});
