import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BodyError } from "../../core/body.ts";
import type { RunTask } from "../../core/plan.ts";
import type { Effect, RunEvent, TryOutcome } from "../../core/progress.ts";
import { LOST_LIMIT } from "../../core/run.ts";
import { countStates, decide, TRIGGER_RULES } from "../../core/rules.ts";
import { TASK_DONE, type TaskState } from "../../core/states.ts";
import { Rig, success, task } from "./run-rig.ts";

const error = (more: Partial<BodyError> = {}): BodyError => ({
  code: "x",
  message: "m",
  retryable: true,
  ...more,
});

const rigOf = (tasks: RunTask[]): Rig => new Rig({ tasks });
const failed = (more: Partial<BodyError> = {}): TryOutcome => ({ kind: "failed", error: error(more) });

describe("B3: the rules of a run", () => {
  it("B3: a chain runs in order and closes as success", () => {
    const rig = rigOf([task("a"), task("b", [0])]);
    expect(rig.effects).toEqual([{ kind: "request", task: 0, index: -1, try: 1 }]);
    expect(rig.run(0, success)).toContainEqual({ kind: "request", task: 1, index: -1, try: 1 });
    expect(rig.run(1, success)).toContainEqual({ kind: "close", state: "success" });
  });

  it("B8: when tries run out, downstream is upstream_failed and the run fails", () => {
    const rig = rigOf([task("a"), task("b", [0]), task("c", [1])]);
    rig.run(0, failed());
    expect(rig.states()).toEqual(["failed", "upstream_failed", "upstream_failed"]);
    expect(rig.progress.state).toBe("failed");
  });

  it("A5: retries are numbered tries with the policy's delays, and end as failed", () => {
    const rig = rigOf([task("a", [], { retries: 2, retryDelayMs: 1000, retryFactor: 2 })]);
    expect(rig.run(0, failed())).toContainEqual({ kind: "wait", task: 0, index: -1, try: 1, delayMs: 1000 });
    rig.send({ kind: "due", task: 0, index: -1, try: 1 });
    expect(rig.run(0, failed())).toContainEqual({ kind: "wait", task: 0, index: -1, try: 2, delayMs: 2000 });
    rig.send({ kind: "due", task: 0, index: -1, try: 2 });
    rig.run(0, failed());
    expect(rig.cell(0)).toMatchObject({ state: "failed", try: 3, retries: 2 });
    expect(rig.progress.state).toBe("failed");
  });

  it("A5: a not-retryable error fails at once; an error may name its own delay", () => {
    const once = rigOf([task("a", [], { retries: 5 })]);
    once.run(0, failed({ retryable: false }));
    expect(once.states()).toEqual(["failed"]);
    const named = rigOf([task("a", [], { retries: 5 })]);
    expect(named.run(0, failed({ retryDelayMs: 77 }))).toContainEqual({
      kind: "wait",
      task: 0,
      index: -1,
      try: 1,
      delayMs: 77,
    });
  });

  it("B7: a lost try is followed by the next at once and uses up no retry, up to a bound", () => {
    const rig = rigOf([task("a")]);
    for (let lost = 1; lost < LOST_LIMIT; lost++) {
      expect(rig.run(0, { kind: "lost", error: error() })).toContainEqual({
        kind: "request",
        task: 0,
        index: -1,
        try: lost + 1,
      });
    }
    rig.run(0, { kind: "lost", error: error() });
    expect(rig.states()).toEqual(["failed"]);
  });

  it("K35: with retries left, tries lost too often in a row use one, and the count begins anew", () => {
    const rig = rigOf([task("a", [], { retries: 1 })]);
    const lost = { kind: "lost", error: error() } as const;
    for (let n = 1; n < LOST_LIMIT; n++) rig.run(0, lost);
    rig.run(0, lost);
    expect(rig.cell(0)).toMatchObject({ state: "up_for_retry", retries: 1, lost: 0 });
    rig.send({ kind: "due", task: 0, index: -1, try: LOST_LIMIT });
    for (let n = 1; n < LOST_LIMIT; n++) rig.run(0, lost);
    expect(rig.states()).toEqual(["queued"]);
    rig.run(0, lost);
    expect(rig.states()).toEqual(["failed"]);
  });

  it("a requeued try uses up nothing, however often", () => {
    const rig = rigOf([task("a")]);
    for (let n = 0; n < 10; n++) rig.run(0, { kind: "requeued", message: "drained" });
    rig.run(0, success);
    expect(rig.cell(0)).toMatchObject({ state: "success", try: 11, retries: 0 });
  });

  it("K36: a late result of an old try changes nothing", () => {
    const rig = rigOf([task("a", [], { retries: 1 }), task("b", [0])]);
    rig.run(0, { kind: "timed_out", error: error() });
    rig.send({ kind: "due", task: 0, index: -1, try: 1 });
    rig.send({ kind: "granted", task: 0, index: -1, try: 2 });
    expect(rig.send({ kind: "ended", task: 0, index: -1, try: 1, outcome: success })).toEqual([]);
    expect(rig.states()).toEqual(["running", "none"]);
  });

  it("repeats of grants and dues are harmless", () => {
    const rig = rigOf([task("a", [], { retries: 1 })]);
    rig.send({ kind: "granted", task: 0, index: -1, try: 1 });
    expect(rig.send({ kind: "granted", task: 0, index: -1, try: 1 })).toEqual([]);
    rig.send({ kind: "ended", task: 0, index: -1, try: 1, outcome: failed() });
    rig.send({ kind: "due", task: 0, index: -1, try: 1 });
    expect(rig.send({ kind: "due", task: 0, index: -1, try: 1 })).toEqual([]);
    expect(rig.send({ kind: "granted", task: 0, index: -1, try: 1 })).toEqual([]);
  });

  it("cancel: queued tasks end at once, running ones are stopped, the run closes when they have ended", () => {
    const rig = rigOf([task("a"), task("b"), task("c", [0, 1])]);
    rig.send({ kind: "granted", task: 0, index: -1, try: 1 });
    expect(rig.send({ kind: "end", as: "cancelled", reason: "by hand" })).toContainEqual({
      kind: "stop",
      task: 0,
      index: -1,
      try: 1,
    });
    expect(rig.states()).toEqual(["running", "cancelled", "cancelled"]);
    const last = rig.send({
      kind: "ended",
      task: 0,
      index: -1,
      try: 1,
      outcome: { kind: "cancelled", message: "stopped" },
    });
    expect(last).toContainEqual({ kind: "close", state: "cancelled" });
  });

  it("a skipped task skips what follows it under all_success, and the run succeeds", () => {
    const rig = rigOf([task("a"), task("b", [0]), task("c", [1])]);
    rig.run(0, { kind: "skipped", message: "nothing to do" });
    expect(rig.states()).toEqual(["skipped", "skipped", "skipped"]);
    expect(rig.progress.state).toBe("success");
  });

  it("a chain of 20,000 that is skipped does not exhaust the stack", () => {
    const tasks = Array.from({ length: 20_000 }, (_, i) => task(`t${i}`, i === 0 ? [] : [i - 1]));
    const rig = rigOf(tasks);
    rig.run(0, { kind: "skipped", message: "" });
    expect(rig.progress.state).toBe("success");
  });

  it("an empty DAG closes at once", () => {
    expect(rigOf([]).progress.state).toBe("success");
  });
});

/** A plain oracle, apart from `step`: end states follow from the rules and each task's own final outcome. */
function oracle(tasks: readonly RunTask[], finals: readonly TaskState[]): TaskState[] {
  const states: TaskState[] = [];
  tasks.forEach((one, position) => {
    const answer = decide(one.triggerRule, countStates(one.upstream.map((up) => states[up]!)));
    states.push(answer === "run" ? finals[position]! : answer === "skip" ? "skipped" : "upstream_failed");
  });
  return states;
}

describe("B3: random graphs", () => {
  const graph = fc.array(
    fc.record({
      edges: fc.array(fc.nat(), { maxLength: 4 }),
      rule: fc.constantFrom(...TRIGGER_RULES),
      final: fc.constantFrom<TaskState>("success", "failed", "skipped"),
      bumps: fc.array(fc.constantFrom("failed", "lost", "requeued", "timed_out"), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it("B3: every run settles, in the states the oracle says, whatever the order of events", () => {
    fc.assert(
      fc.property(graph, fc.infiniteStream(fc.nat()), (nodes, picks) => {
        const tasks = nodes.map((node, i) =>
          task(
            `t${i}`,
            i === 0 ? [] : [...new Set(node.edges.map((edge) => edge % i))].sort((a, b) => a - b),
            {
              triggerRule: node.rule,
              retries: 3,
            },
          ),
        );
        const rig = rigOf(tasks);
        const bumps = nodes.map((node) =>
          [...node.bumps].filter((bump, n, all) => bump !== "lost" || all.indexOf("lost") === n),
        );
        const open: RunEvent[] = [];
        const take = (effects: readonly Effect[]): void => {
          for (const effect of effects) {
            if (effect.kind === "request")
              open.push({ kind: "granted", task: effect.task, index: -1, try: effect.try });
            if (effect.kind === "wait")
              open.push({ kind: "due", task: effect.task, index: -1, try: effect.try });
            if (effect.kind === "start") {
              const bump = bumps[effect.task]!.pop();
              const final = nodes[effect.task]!.final;
              const outcome: TryOutcome =
                bump === "requeued"
                  ? { kind: "requeued", message: "" }
                  : bump !== undefined
                    ? { kind: bump, error: error() }
                    : final === "success"
                      ? success
                      : final === "skipped"
                        ? { kind: "skipped", message: "" }
                        : failed({ retryable: false });
              open.push({ kind: "ended", task: effect.task, index: -1, try: effect.try, outcome });
            }
          }
        };
        take(rig.effects);
        for (const pick of picks) {
          if (open.length === 0) break;
          const [event] = open.splice(pick % open.length, 1);
          take(rig.send(event!));
        }
        expect(rig.progress.state).not.toBe("running");
        expect(rig.states().every((state) => TASK_DONE[state])).toBe(true);
        // Rules that may answer before all upstreams ended answer the same at the end (test/core/rules.test.ts).
        expect(rig.states()).toEqual(
          oracle(
            tasks,
            nodes.map((node) => node.final),
          ),
        );
        const seqs = rig.effects.filter((effect) => effect.kind === "record").map((effect) => effect.seq);
        expect(seqs).toEqual(seqs.map((_, i) => i + 1));
        expect(rig.effects.filter((effect) => effect.kind === "close")).toHaveLength(1);
      }),
      { seed: 3, numRuns: 1500 },
    );
  });
});
