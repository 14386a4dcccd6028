/** Runs with mapped tasks, for tests of their rules. */
import { inputsOf } from "../../core/inputs.ts";
import type { SerialMap } from "../../core/mapping.ts";
import type { RunTask } from "../../core/plan.ts";
import type { TryOutcome } from "../../core/progress.ts";
import type { TriggerRule } from "../../core/rules.ts";
import { Rig, success, task } from "./run-rig.ts";

export const over = (source: number | readonly unknown[], more: Partial<SerialMap> = {}): SerialMap => ({
  group: null,
  over: { item: source },
  how: "product",
  batch: null,
  max: 1024,
  ...more,
});
export const list = (items: number): TryOutcome => ({ ...success, output: [], measured: { items } });
export const failed: TryOutcome = {
  kind: "failed",
  error: { code: "x", message: "m", retryable: false },
};
export const skipped: TryOutcome = { kind: "skipped", message: "" };

/** list → load (mapped) → one reducer for each rule. */
export function mapped(
  rules: readonly TriggerRule[],
  more: Partial<SerialMap> = {},
  load: Partial<RunTask> = {},
): Rig {
  return new Rig({
    tasks: [
      task("list"),
      task("load", [0], { map: 0, items: { item: "item" }, ...load }),
      ...rules.map((triggerRule) => task(triggerRule, [1], { triggerRule, inputs: { loads: 1 } })),
    ],
    maps: [over(0, more)],
  });
}

export const inputs = (rig: Rig, name: string) => {
  const { task: position, index } = rig.at(name);
  return inputsOf(rig.plan, rig.progress, position, index);
};
