/** Where each input of a try comes from. Pure. */
import { namesOf, picksOf, type Pick } from "./mapping.ts";
import type { RunPlan } from "./plan.ts";
import type { RunProgress } from "./progress.ts";

/**
 * The output of a task, by its id; or of one instance; or those of all its instances that succeeded, in the order of their
 * indexes; or of such a list one item, or some; or a value.
 */
export type InputRef =
  | string
  | {
      readonly task: string;
      /** Of this instance. */
      readonly index?: number;
      /** The list that the outputs of all its instances make. */
      readonly all?: true;
      /** Of the list: what is wanted; left out: all of it. */
      readonly pick?: Pick;
    }
  | { readonly value: unknown };

/** The inputs of a cell's try, by name. */
export function inputsOf(
  plan: RunPlan,
  progress: RunProgress,
  task: number,
  index: number,
): Record<string, InputRef> {
  const { inputs, items, map } = plan.tasks[task]!;
  const refs: Record<string, InputRef> = {};
  for (const [name, from] of Object.entries(inputs)) {
    const { id } = plan.tasks[from]!;
    const around = plan.tasks[from]!.map;
    if (around === undefined) refs[name] = id;
    else if (map === around) refs[name] = { task: id, index };
    else refs[name] = { task: id, all: true };
  }
  if (items === undefined || map === undefined) return refs;
  const around = plan.maps[map]!;
  const { over } = around;
  const lengths = namesOf(around).map((name) => lengthOf(progress, over[name]!));
  const picks = picksOf(around, lengths, index);
  for (const [name, list] of Object.entries(items)) {
    const source = over[list]!;
    const pick = picks[list]!;
    if (typeof source !== "number") {
      const { from, count } = pick;
      refs[name] = { value: count === null ? source[from] : source.slice(from, from + count) };
    } else if (plan.tasks[source]!.map === undefined) refs[name] = { task: plan.tasks[source]!.id, pick };
    else refs[name] = { task: plan.tasks[source]!.id, all: true, pick };
  }
  return refs;
}

function lengthOf(progress: RunProgress, source: number | readonly unknown[]): number {
  if (typeof source !== "number") return source.length;
  const { tally } = progress.tasks[source]!;
  if (tally !== null) return tally.success;
  const measured = progress.measured[source];
  return measured !== undefined && "items" in measured ? measured.items : 0;
}
