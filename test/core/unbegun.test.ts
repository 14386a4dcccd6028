import { expect, it } from "vitest";
import { planOf } from "../../core/plan.ts";
import { endedUnbegun } from "../../core/unbegun.ts";
import { step } from "../../core/run.ts";
import { reopened } from "../../core/progress.ts";
import { serialTask } from "../support/serial.ts";

const STATES = ["cancelled", "cancelled", "cancelled", "cancelled", "skipped"];

it("B15: a run that is ended before it began runs none of its tasks, and may be cleared", () => {
  const plan = planOf({
    tasks: [
      serialTask("a"),
      serialTask("b", [0]),
      { ...serialTask("event"), wait: { kind: "event", timeoutMs: null } },
      serialTask("made", [], { setup: true }),
      serialTask("gone", [3], { teardown: [3] }),
    ],
  });
  const { progress, records } = endedUnbegun(plan, { as: "failed", reason: "too late" });
  expect(progress).toMatchObject({ state: "failed", ending: { reason: "too late" } });
  expect(progress.tasks.map(({ own }) => own.state)).toEqual(STATES);
  expect(records.map(({ task, state, ended }) => [task, state, ended])).toEqual(
    STATES.map((state, task) => [task, state, null]),
  );
  const again = step(plan, reopened(progress), {
    kind: "clear",
    cells: [0, 1, 2, 3, 4].map((task) => ({ task, index: -1 })),
  });
  expect(again.progress.state).toBe("running");
  expect(again.effects.flatMap((effect) => (effect.kind === "request" ? [effect.task] : []))).toEqual([0, 3]);
});
