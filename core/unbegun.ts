import type { RunPlan } from "./plan.ts";
import { newProgress, type Ending, type RecordEffect, type RunProgress } from "./progress.ts";
import { step } from "./run.ts";

/** A run that is ended before it began: where it stands then, so that it may be cleared, and what there is to write down. */
export function endedUnbegun(
  plan: RunPlan,
  ending: Ending,
): { readonly progress: RunProgress; readonly records: readonly RecordEffect[] } {
  const { progress, effects } = step(plan, newProgress(plan), { kind: "end", ...ending });
  return { progress, records: effects.filter((effect) => effect.kind === "record") };
}
