/** What a try of a local run finds under `inputs`. */
import { inputsOf, type InputRef } from "../core/inputs.ts";
import { picked } from "../core/mapping.ts";
import type { RunPlan } from "../core/plan.ts";
import type { At, RunProgress } from "../core/progress.ts";

/** By the name of a cell, `load[2]` or `load`; undefined: it has none. */
type Outputs = (name: string) => unknown;

/** Each consumer gets a copy of its own; an upstream without an output gives no key. */
export function inputValues(
  plan: RunPlan,
  progress: RunProgress,
  { task, index }: At,
  outputOf: Outputs,
): Record<string, unknown> {
  const given = Object.entries(inputsOf(plan, progress, task, index)).map(
    ([name, ref]) => [name, valueOf(plan, progress, ref, outputOf)] as const,
  );
  return structuredClone(Object.fromEntries(given.filter(([, value]) => value !== undefined)));
}

function valueOf(plan: RunPlan, progress: RunProgress, ref: InputRef, outputOf: Outputs): unknown {
  if (typeof ref === "string") return outputOf(ref);
  if ("value" in ref) return ref.value;
  if (ref.index !== undefined) return outputOf(`${ref.task}[${ref.index}]`);
  const list = ref.all === true ? outputsOf(plan, progress, ref.task, outputOf) : outputOf(ref.task);
  return picked(list, ref.pick);
}

/** Of the instances that succeeded; null where one was marked so without an output. */
function outputsOf(plan: RunPlan, progress: RunProgress, taskId: string, outputOf: Outputs): unknown[] {
  const { instances, count } = progress.tasks[plan.positions.get(taskId)!]!;
  return (instances ?? [])
    .slice(0, count ?? 0)
    .flatMap(({ state }, index) => (state === "success" ? [outputOf(`${taskId}[${index}]`) ?? null] : []));
}
