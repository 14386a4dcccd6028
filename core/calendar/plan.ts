/**
 * Which intervals must be created now (P3, P5). The answer depends on the stored cursor and on time
 * alone, so a tick that comes early, late, twice or never cannot lose or double an interval.
 */
import { boundaries, type Boundaries, type Timetable } from "./timetable.ts";

/** `[startAt, endAt)` in epoch milliseconds. */
export interface Interval {
  readonly startAt: number;
  readonly endAt: number;
}

export interface PlanInput {
  readonly timetable: Timetable;
  /** The first interval starts at the first boundary at or after it; null: after `firstSeenAt`. */
  readonly startAt: number | null;
  /** The last logical date, inclusive, or null. */
  readonly endAt: number | null;
  readonly catchup: boolean;
  /** End of the last interval decided for this DAG, or null when none ever was. */
  readonly cursorAt: number | null;
  readonly firstSeenAt: number;
  readonly nowAt: number;
  /** At most so many intervals in one answer. */
  readonly limit: number;
}

export interface Plan {
  /** Complete ones only, oldest first. */
  readonly intervals: readonly Interval[];
  /** To be stored together with the runs. */
  readonly cursorAt: number | null;
  /** When the next interval ends; at or before `nowAt` while `more`; null: never again. */
  readonly nextDueAt: number | null;
  /** The limit was reached: call again at once with the new cursor. */
  readonly more: boolean;
  /**
   * What no interval covers because the timetable changed in mid-life (K19). The same stretch is
   * answered until the cursor has passed it: changing back in time still covers it.
   */
  readonly uncovered: Interval | null;
}

/** The intervals due at `nowAt`; with catchup off only the latest complete one (P5). */
export function plan(input: PlanInput): Plan {
  const { endAt, nowAt, limit } = input;
  const walk = boundaries(input.timetable);
  const wanted = (at: number | null): at is number => at !== null && (endAt === null || at <= endAt);

  const firstAt = walk.atOrAfter(originOf(input));
  let startAt = firstAt;
  if (!input.catchup && wanted(firstAt)) {
    startAt = Math.max(firstAt, latestComplete(walk, nowAt, endAt) ?? firstAt);
  }

  const intervals: Interval[] = [];
  let dueAt = wanted(startAt) ? walk.next(startAt) : null;
  while (wanted(startAt) && dueAt !== null && dueAt <= nowAt && intervals.length < limit) {
    intervals.push({ startAt, endAt: dueAt });
    startAt = dueAt;
    dueAt = wanted(startAt) ? walk.next(startAt) : null;
  }
  return {
    intervals,
    cursorAt: intervals.at(-1)?.endAt ?? input.cursorAt,
    nextDueAt: dueAt,
    more: dueAt !== null && dueAt <= nowAt,
    uncovered: uncoveredOf(input, firstAt),
  };
}

/** P8: on a boundary, the interval the schedule has there. P13: off a boundary, or by hand, `[t, t)`. */
export function intervalFor(timetable: Timetable, logicalAt: number): Interval {
  const walk = boundaries(timetable);
  const endAt = walk.atOrAfter(logicalAt) === logicalAt ? walk.next(logicalAt) : null;
  return { startAt: logicalAt, endAt: endAt ?? logicalAt };
}

function originOf({ cursorAt, startAt, firstSeenAt }: PlanInput): number {
  if (cursorAt === null) return startAt ?? firstSeenAt;
  return Math.max(cursorAt, startAt ?? cursorAt);
}

/** Start of the latest interval that has ended and whose logical date is not past the end date. */
function latestComplete(walk: Boundaries, nowAt: number, endAt: number | null): number | null {
  const lastAt = walk.prev(nowAt + 1);
  const startAt = lastAt === null ? null : walk.prev(lastAt);
  return startAt !== null && endAt !== null && startAt > endAt ? walk.prev(endAt + 1) : startAt;
}

/** A start date moved ahead of the cursor is no gap: the author asked for it. */
function uncoveredOf({ cursorAt, startAt, endAt }: PlanInput, firstAt: number | null): Interval | null {
  if (cursorAt === null || firstAt === null || firstAt === cursorAt) return null;
  if (startAt !== null && startAt > cursorAt) return null;
  if (endAt !== null && cursorAt > endAt) return null;
  return { startAt: cursorAt, endAt: firstAt };
}
