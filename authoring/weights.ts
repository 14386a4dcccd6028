import type { DraftTask } from "./draft.ts";

/** What PostgreSQL's integer holds; Airflow bounds sums the same way. */
const MOST = 2 ** 31 - 1;

/**
 * The priority of each task in its pool: its own weight and, by its weight rule, those of all tasks before it (upstream)
 * or behind it (downstream), each counted once.
 */
export function effectiveWeights(tasks: readonly DraftTask[]): number[] {
  const up = tasks.map(({ upstream }) => [...upstream]);
  const down = tasks.map((): number[] => []);
  for (const [position, before] of up.entries()) for (const one of before) down[one]!.push(position);
  return tasks.map(({ options: { priorityWeight, weightRule } }, position) => {
    if (weightRule === "absolute") return priorityWeight;
    const sum = reach(position, weightRule === "upstream" ? up : down).reduce(
      (total, other) => total + tasks[other]!.options.priorityWeight,
      priorityWeight,
    );
    return Math.max(-MOST, Math.min(MOST, sum));
  });
}

/** Everything that can be got to from there, without itself. */
function reach(from: number, edges: readonly (readonly number[])[]): number[] {
  const seen = new Set([from]);
  for (const at of seen) for (const next of edges[at]!) seen.add(next);
  seen.delete(from);
  return [...seen];
}
