/** A run's tasks wait without a slot (A6): sensors, events, instants, other runs, and bodies that ask for it. */
import { describe, expect, it } from "vitest";
import type { Effect, RecordEffect, TryOutcome } from "../../core/progress.ts";
import type { Deferral, RunWait, WaitEnd } from "../../core/waits.ts";
import { WAIT_TIMEOUT } from "../../core/waking.ts";
import { failed, inputs, list, mapped, over } from "./mapped-rig.ts";
import { Rig, success, task } from "./run-rig.ts";

const asks = (deferral: Deferral): TryOutcome => ({ kind: "deferred", deferral });
const poke = asks({ on: "poke" });
const forEvent = asks({ on: "event", timeoutMs: null });
const done: WaitEnd = { kind: "success" };
const goesOn: WaitEnd = { kind: "resume" };
const late: WaitEnd = { kind: "expired", message: "too late" };

const sensor = (more: Partial<RunWait> = {}): { wait: RunWait } => ({
  wait: { kind: "sensor", timeoutMs: 3_600_000, ...more },
});
const event: { wait: RunWait } = { wait: { kind: "event", timeoutMs: 1000 } };

const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);
const endsOf = (rig: Rig): string[] =>
  rig.effects
    .filter((effect): effect is RecordEffect => effect.kind === "record" && effect.ended !== null)
    .map(({ try: number, state, ended }) => `${number} ${ended!.state} → ${state}`);

/** Grants the latest try of a cell at this moment, and ends it. */
function runAt(rig: Rig, name: string, now: number, outcome: TryOutcome): readonly Effect[] {
  const at = { ...rig.at(name), try: rig.cell(name).try };
  rig.send({ kind: "granted", ...at, now });
  return rig.send({ kind: "ended", ...at, outcome });
}

describe("A6: tasks without a body", () => {
  it.each(["event", "until", "run"] as const)("A6: %s: asks for no slot, and ends by being woken", (kind) => {
    const rig = new Rig({ tasks: [task("wait", [], { wait: { kind } }), task("after", [0])] });
    expect(kinds(rig.effects)).toEqual(["record", "defer"]);
    expect(rig.cell("wait")).toMatchObject({ state: "deferred", try: 1, waits: 1 });
    expect(kinds(rig.wake("wait", done))).toEqual(["record", "request"]);
    rig.run("after");
    expect(rig.progress.state).toBe("success");
    expect(endsOf(rig)).toEqual(["1 success → success", "1 success → success"]);
  });

  it("A6: it waits for its upstream, and is skipped or could not run as any task", () => {
    const rig = new Rig({
      tasks: [
        task("a"),
        task("wait", [0], event),
        task("b", [1]),
        task("other", [0], { triggerRule: "all_failed", ...event }),
      ],
    });
    expect(rig.states()).toEqual(["queued", "none", "none", "none"]);
    rig.run("a", failed);
    expect(rig.states()).toEqual(["failed", "upstream_failed", "upstream_failed", "deferred"]);
  });

  it("A6: a failed look is tried again, as a try of its own with a wait of its own", () => {
    const rig = new Rig({ tasks: [task("wait", [], { wait: { kind: "run" }, retries: 1 })] });
    const end: WaitEnd = { kind: "failed", error: { code: "x", message: "m", retryable: true } };
    expect(kinds(rig.wake("wait", end))).toEqual(["record", "wait"]);
    expect(rig.cell("wait")).toMatchObject({ state: "up_for_retry", try: 1 });
    expect(kinds(rig.send({ kind: "due", ...rig.at("wait"), try: 1 }))).toEqual(["record", "defer"]);
    expect(rig.cell("wait")).toMatchObject({ state: "deferred", try: 2, waits: 1 });
    rig.wake("wait", end);
    expect(rig.progress.state).toBe("failed");
  });

  it("A6 A7: mapped: an instance each, whatever the concurrency; the lists of those that ended", () => {
    const rig = mapped(["all_done"], {}, { ...event, concurrency: 1 });
    rig.run("list", list(3));
    expect(rig.stateOf("load[0]", "load[1]", "load[2]")).toEqual(["deferred", "deferred", "deferred"]);
    rig.wake("load[1]", done);
    rig.wake("load[0]", { kind: "skipped", message: "" });
    rig.wake("load[2]", late);
    expect(rig.stateOf("load[0]", "load[1]", "load[2]", "all_done")).toEqual([
      "skipped",
      "success",
      "failed",
      "queued",
    ]);
    expect(inputs(rig, "all_done")).toEqual({ loads: { task: "load", all: true } });
  });

  it("A6 A7: tasks are mapped over what it was ended with", () => {
    const rig = new Rig({
      tasks: [task("wait", [], event), task("each", [0], { map: 0, items: { item: "item" } })],
      maps: [over(0)],
    });
    rig.wake("wait", { kind: "success", measured: { items: 2 } });
    expect(rig.names()).toEqual(["wait", "each[0]", "each[1]"]);
    const none = new Rig({
      tasks: [task("wait", [], event), task("each", [0], { map: 0, items: { item: "item" } })],
      maps: [over(0)],
    });
    none.wake("wait", { kind: "success", measured: { not: "null" } });
    expect(none.stateOf("each")).toEqual(["failed"]);
  });
});

describe("K37 A6: a sensor's time-out spans its retries", () => {
  const from = Date.UTC(2026, 4, 9);
  const by = from + 3_600_000;
  const rigOf = (more: Partial<RunWait> = {}): Rig =>
    new Rig({
      tasks: [task("sensor", [], { ...sensor(more), retries: 1 }), task("after", [0])],
    });

  it("K37 A6: try 2 has what is left; then no third try, and one end", () => {
    const rig = rigOf();
    expect(kinds(runAt(rig, "sensor", from, poke))).toEqual(["record"]);
    expect(rig.cell("sensor")).toMatchObject({ state: "deferred", waitBy: by });
    rig.wake("sensor", { kind: "failed", error: { code: "x", message: "thrown", retryable: true } });
    rig.send({ kind: "due", ...rig.at("sensor"), try: 1 });
    runAt(rig, "sensor", from + 600_000, poke);
    expect(rig.cell("sensor")).toMatchObject({ state: "deferred", try: 2, waitBy: by, waits: 1 });
    const effects = rig.wake("sensor", late);
    expect(kinds(effects)).not.toContain("wait");
    expect(effects[0]).toMatchObject({
      kind: "record",
      state: "failed",
      ended: { state: "timed_out", outcome: { error: { code: WAIT_TIMEOUT, retryable: false } } },
    });
    expect(endsOf(rig)).toEqual(["1 failed → up_for_retry", "2 timed_out → failed"]);
    expect(rig.states()).toEqual(["failed", "upstream_failed"]);
    expect(rig.progress.state).toBe("failed");
  });

  it("K37 A6: it counts from the first check, over lost and requeued tries too", () => {
    const rig = rigOf();
    runAt(rig, "sensor", from, { kind: "lost", error: { code: "lost", message: "", retryable: true } });
    runAt(rig, "sensor", from + 5000, { kind: "requeued", message: "" });
    runAt(rig, "sensor", from + 9000, poke);
    expect(rig.cell("sensor")).toMatchObject({ try: 3, retries: 0, waitBy: by });
  });

  it("K37 A6: with softFail it is skipped, and so is what comes after it; other failures stay failures", () => {
    const soft = rigOf({ softFail: true });
    runAt(soft, "sensor", from, poke);
    soft.wake("sensor", late);
    expect(soft.states()).toEqual(["skipped", "skipped"]);
    expect(soft.progress.state).toBe("success");
    const thrown = rigOf({ softFail: true });
    runAt(thrown, "sensor", from, failed);
    expect(thrown.stateOf("sensor")).toEqual(["failed"]);
  });

  it("K37 A6: a check that is stopped by it ends as a deferred one does", () => {
    const inPlace: TryOutcome = {
      kind: "timed_out",
      error: { code: WAIT_TIMEOUT, message: "too late", retryable: false },
    };
    for (const softFail of [undefined, true as const]) {
      const more = softFail === undefined ? {} : { softFail };
      const deferred = rigOf(more);
      runAt(deferred, "sensor", from, poke);
      deferred.wake("sensor", late);
      const stayed = rigOf(more);
      runAt(stayed, "sensor", from, inPlace);
      expect(endsOf(stayed)).toEqual(endsOf(deferred));
      expect(stayed.states()).toEqual(deferred.states());
    }
  });

  it("K37 A6 B9: cleared, it has its whole time again", () => {
    const rig = rigOf();
    runAt(rig, "sensor", from, poke);
    rig.wake("sensor", late);
    rig.clear("sensor");
    runAt(rig, "sensor", from + 7_200_000, poke);
    expect(rig.cell("sensor")).toMatchObject({ try: 2, waitBy: from + 10_800_000 });
  });
});

describe("A6: a body that defers", () => {
  const one = (more = {}): Rig => new Rig({ tasks: [task("a", [], { retries: 1, ...more })] });

  it("K38 A5 A6: it goes on in the same try, with a slot, and until the try's own time is over", () => {
    const rig = one();
    rig.run("a", forEvent);
    expect(kinds(rig.wake("a", goesOn))).toEqual(["request"]);
    expect(rig.effects.at(-1)).toMatchObject({ kind: "request", try: 1, wait: 1 });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 1, waits: 1, resume: true });
    // The grant of its first part, told late: it has no slots now.
    expect(kinds(rig.send({ kind: "granted", ...rig.at("a"), try: 1 }))).toEqual([]);
    expect(kinds(rig.send({ kind: "granted", ...rig.at("a"), try: 1, wait: 1 }))).toEqual(["start"]);
    expect(rig.cell("a")).toMatchObject({ state: "running", resume: true });
    // The end of its first part, told twice.
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: forEvent, wait: 0 });
    expect(rig.cell("a").state).toBe("running");
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: success });
    expect(endsOf(rig)).toEqual(["1 success → success"]);
  });

  it("A6: several waits in one try are counted; the next begins where the last was resumed", () => {
    const rig = one();
    for (const waits of [1, 2, 3]) {
      rig.run("a", forEvent);
      expect(rig.cell("a")).toMatchObject({ state: "deferred", try: 1, waits });
      expect(rig.cell("a").resume).toBeUndefined();
      rig.wake("a", goesOn);
    }
    rig.run("a");
    expect(rig.progress.state).toBe("success");
  });

  it("K38 A5 A6: the execution time-out while it waits fails the try, and the next begins anew", () => {
    const rig = one();
    rig.run("a", forEvent);
    expect(kinds(rig.wake("a", { kind: "timed_out", message: "60 s" }))).toEqual(["record", "wait"]);
    rig.send({ kind: "due", ...rig.at("a"), try: 1 });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 2 });
    expect(rig.cell("a").resume).toBeUndefined();
    rig.run("a", forEvent);
    expect(rig.cell("a").waits).toBe(1);
    expect(endsOf(rig)).toEqual(["1 timed_out → up_for_retry"]);
  });

  it("A6: its wait's own time-out is final, whatever the retries", () => {
    const rig = one({ retries: 5 });
    rig.run("a", forEvent);
    rig.wake("a", late);
    expect(rig.progress.state).toBe("failed");
  });

  it("regression A6: a try whose worker is lost after its wait goes on behind that wait: nobody would end it again", () => {
    const rig = one({ retries: 1 });
    rig.run("a", forEvent);
    rig.wake("a", goesOn);
    const lost = { kind: "lost", error: { code: "lost", message: "", retryable: true } } as const;
    rig.run("a", lost);
    expect(rig.cell("a")).toMatchObject({
      state: "queued",
      try: 2,
      retries: 0,
      resumeOf: { try: 1, wait: 1 },
    });
    rig.run("a", { kind: "requeued", message: "" });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 3, resumeOf: { try: 1, wait: 1 } });
    // Waiting once more, it waits for what is its own.
    rig.run("a", forEvent);
    expect(rig.cell("a")).toMatchObject({ state: "deferred", try: 3, waits: 1 });
    expect(rig.cell("a").resumeOf).toBeUndefined();
    rig.wake("a", goesOn);
    rig.run("a", lost);
    expect(rig.cell("a").resumeOf).toEqual({ try: 3, wait: 1 });
    // A failure is the task's own: its retry begins anew.
    rig.run("a", { kind: "failed", error: { code: "x", message: "", retryable: true } });
    rig.send({ kind: "due", ...rig.at("a"), try: 4 });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 5 });
    expect(rig.cell("a").resumeOf).toBeUndefined();
  });
});

describe("A6 B9: commands while one waits", () => {
  const two = (): Rig => new Rig({ tasks: [task("a", [], event), task("b", [0])] });

  it("A6 B9: cleared: its wait is given up, and the next try has a wait of its own", () => {
    const rig = two();
    expect(kinds(rig.clear("a"))).toEqual(["record", "record", "defer"]);
    expect(rig.cell("a")).toMatchObject({ state: "deferred", try: 2, waits: 1 });
    expect(endsOf(rig)).toEqual(["1 cancelled → none"]);
  });

  it("A6 B9: cleared while it has been woken and has no slot yet", () => {
    const rig = new Rig({ tasks: [task("a")] });
    rig.run("a", forEvent);
    rig.wake("a", goesOn);
    rig.clear("a");
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 2 });
    expect(rig.cell("a").resume).toBeUndefined();
    expect(endsOf(rig)).toEqual(["1 cancelled → none"]);
  });

  it.each([
    ["success", ["success", "queued"]],
    ["failed", ["failed", "upstream_failed"]],
    ["skipped", ["skipped", "skipped"]],
  ] as const)("A6 B9: marked as %s: its wait is given up", (as, after) => {
    const rig = two();
    rig.mark(as, "a");
    expect(rig.states()).toEqual(after);
    expect(endsOf(rig)).toEqual([`1 cancelled → ${as}`]);
  });

  it("A6 B9: a body that is being stopped, and defers, is stopped", () => {
    const rig = new Rig({ tasks: [task("a")] });
    rig.send({ kind: "granted", ...rig.at("a"), try: 1 });
    expect(kinds(rig.clear("a"))).toEqual(["stop"]);
    rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: forEvent });
    expect(rig.cell("a")).toMatchObject({ state: "queued", try: 2 });
    expect(endsOf(rig)).toEqual(["1 cancelled → none"]);
  });

  it.each([
    ["cancelled", "cancelled"],
    ["failed", "cancelled"],
  ] as const)(
    "A6 A5: the run is ended as %s, by hand or by its time-out: what waits is given up",
    (as, state) => {
      const rig = new Rig({
        tasks: [task("a", [], event), task("s", [], sensor()), task("r"), task("b", [0])],
      });
      rig.run("s", poke);
      rig.run("r", forEvent);
      rig.wake("r", goesOn);
      rig.send({ kind: "end", as, reason: "" });
      expect(rig.states()).toEqual([state, state, state, "cancelled"]);
      expect(rig.progress.state).toBe(as);
      expect(endsOf(rig)).toEqual([
        `1 cancelled → ${state}`,
        `1 cancelled → ${state}`,
        `1 cancelled → ${state}`,
      ]);
    },
  );

  it("A6 A5: a body that defers while its run is being ended ends with it", () => {
    for (const as of ["cancelled", "failed"] as const) {
      const rig = new Rig({ tasks: [task("a")] });
      rig.send({ kind: "granted", ...rig.at("a"), try: 1 });
      rig.send({ kind: "end", as, reason: "" });
      rig.send({ kind: "ended", ...rig.at("a"), try: 1, outcome: forEvent });
      expect(rig.states()).toEqual([as]);
      expect(rig.progress.state).toBe(as);
    }
  });

  it("A4 A6: a teardown runs after deferred work however that ended, and may wait itself while the run ends", () => {
    const rig = new Rig({
      tasks: [
        task("make", [], { setup: true }),
        task("work", [0]),
        task("drop", [0, 1], { triggerRule: "all_done", teardown: [0] }),
      ],
    });
    rig.run("make");
    rig.run("work", forEvent);
    expect(rig.stateOf("drop")).toEqual(["none"]);
    rig.send({ kind: "end", as: "cancelled", reason: "" });
    expect(rig.stateOf("work", "drop")).toEqual(["cancelled", "queued"]);
    rig.run("drop", forEvent);
    expect(rig.stateOf("drop")).toEqual(["deferred"]);
    expect(rig.progress.state).toBe("running");
    rig.wake("drop", goesOn);
    rig.run("drop");
    expect(rig.progress.state).toBe("cancelled");
    expect(rig.stateOf("drop")).toEqual(["success"]);
  });
});

describe("A6 A7: mapped sensors and bodies under maxActivePerRun", () => {
  it("A6 A7: one that waits holds no place: the next is asked for", () => {
    const rig = mapped([], {}, { ...sensor(), concurrency: 1 });
    rig.run("list", list(3));
    const states = () => rig.stateOf("load[0]", "load[1]", "load[2]");
    expect(states()).toEqual(["queued", "none", "none"]);
    rig.run("load[0]", poke);
    expect(states()).toEqual(["deferred", "queued", "none"]);
    rig.run("load[1]", poke);
    rig.run("load[2]", poke);
    expect(states()).toEqual(["deferred", "deferred", "deferred"]);
    for (const name of ["load[2]", "load[0]", "load[1]"]) rig.wake(name, done);
    expect(rig.progress.state).toBe("success");
  });

  it("A6 A7: a body that goes on waits for its place again, and goes on in the same try", () => {
    const rig = mapped([], {}, { concurrency: 1 });
    rig.run("list", list(2));
    rig.run("load[0]", forEvent);
    expect(rig.stateOf("load[0]", "load[1]")).toEqual(["deferred", "queued"]);
    expect(kinds(rig.wake("load[0]", goesOn))).toEqual([]);
    expect(rig.cell("load[0]")).toMatchObject({ state: "deferred", held: true });
    rig.run("load[1]");
    expect(rig.cell("load[0]")).toMatchObject({ state: "queued", try: 1, waits: 1, resume: true });
    expect(rig.cell("load[0]").held).toBeUndefined();
    rig.run("load[0]");
    expect(rig.progress.state).toBe("success");
  });

  it("A6 A7 B9: one that is held before it goes on is cleared, marked and ended as one that waits", () => {
    const held = (): Rig => {
      const rig = mapped([], {}, { concurrency: 1 });
      rig.run("list", list(2));
      rig.run("load[0]", forEvent);
      rig.wake("load[0]", goesOn);
      return rig;
    };
    const cleared = held();
    cleared.clear("load[0]");
    expect(cleared.cell("load[0]")).toMatchObject({ state: "none", held: true });
    expect(cleared.cell("load[0]").resume).toBeUndefined();
    expect(endsOf(cleared)).toContain("1 cancelled → none");
    cleared.run("load[1]");
    expect(cleared.cell("load[0]")).toMatchObject({ state: "queued", try: 2 });
    const marked = held();
    marked.mark("success", "load[0]");
    marked.run("load[1]");
    expect(marked.progress.state).toBe("success");
    expect(endsOf(marked)).toContain("1 cancelled → success");
    const ended = held();
    ended.send({ kind: "end", as: "cancelled", reason: "" });
    expect(ended.stateOf("load[0]", "load[1]")).toEqual(["cancelled", "cancelled"]);
    expect(endsOf(ended)).toContain("1 cancelled → cancelled");
  });
});
