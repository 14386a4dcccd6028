import { type Interval, plan, type PlanInput } from "./plan.ts";
import { boundaries } from "./timetable.ts";

/** The next `count` intervals that a DAG gets a run for if it stays as it is: those due and not made yet, then later ones. */
export function upcoming(input: Omit<PlanInput, "limit">, count: number): Interval[] {
  const { intervals, nextDueAt, more } = plan({ ...input, limit: count });
  const found = [...intervals];
  if (more) return found;
  const walk = boundaries(input.timetable);
  for (let endAt = nextDueAt; endAt !== null && found.length < count; endAt = walk.next(endAt)) {
    const startAt = walk.prev(endAt);
    if (startAt === null || (input.endAt !== null && startAt > input.endAt)) break;
    found.push({ startAt, endAt });
  }
  return found;
}
