/** From a cron spec and a zone to instants, forwards and backwards (P2). */
import type { CronSpec } from "./cron.ts";
import { dayMask, type DayMask } from "./cron-days.ts";
import {
  CALENDAR_FROM_AT,
  CALENDAR_UNTIL_AT,
  DAY_MS,
  firstInstant,
  HOUR_MS,
  MINUTE_MS,
  wallPeak,
  type Zone,
} from "./zone.ts";

/** Where intervals begin and end, in epoch milliseconds; null when the calendar has no more. */
export interface Boundaries {
  /** The first boundary strictly after `at`. */
  next(at: number): number | null;
  /** The last boundary strictly before `at`. */
  prev(at: number): number | null;
  /** The first boundary at or after `at`. */
  atOrAfter(at: number): number | null;
}

/** The boundaries of a cron spec; between the years 1800 and 9999. */
export function cronBoundaries(spec: CronSpec, zone: Zone): Boundaries {
  const walls = wallTimes(spec);
  const { next, prev } = spec.hourStarred ? realTime(walls, zone) : fixedTime(walls, zone);
  return { next, prev, atOrAfter: (at) => next(at - 1) };
}

type Steps = Pick<Boundaries, "next" | "prev">;

/**
 * Each matching wall time fires once, at the first instant the clock shows it or a later one. So it
 * has fired at or before `at` exactly if it is not above the peak reached by then, in both directions.
 */
function fixedTime(walls: WallTimes, zone: Zone): Steps {
  const fire = (wall: number | null) => (wall === null ? null : inside(firstInstant(zone, wall)));
  return {
    next: (at) => fire(walls.after(wallPeak(zone, clamp(at)))),
    prev: (at) => fire(walls.atOrBefore(wallPeak(zone, clamp(at) - 1))),
  };
}

/** Fires whenever the clock shows a matching time: on both passes of a repeated hour, never in a gap. */
function realTime(walls: WallTimes, zone: Zone): Steps {
  return {
    next: (at) => {
      let fromAt = clamp(at) + 1;
      while (fromAt < CALENDAR_UNTIL_AT) {
        const segment = zone.segmentAt(fromAt);
        const wall = walls.after(fromAt + segment.offsetMs - 1);
        if (wall === null) return null;
        const foundAt = wall - segment.offsetMs;
        if (foundAt < segment.untilAt) return inside(foundAt);
        fromAt = segment.untilAt;
      }
      return null;
    },
    prev: (at) => {
      let untilAt = clamp(at);
      while (untilAt > CALENDAR_FROM_AT) {
        const segment = zone.segmentAt(untilAt - 1);
        const wall = walls.atOrBefore(untilAt - 1 + segment.offsetMs);
        if (wall === null) return null;
        const foundAt = wall - segment.offsetMs;
        if (foundAt >= segment.fromAt) return inside(foundAt);
        untilAt = segment.fromAt;
      }
      return null;
    },
  };
}

function clamp(at: number): number {
  return Math.min(Math.max(at, CALENDAR_FROM_AT - 1), CALENDAR_UNTIL_AT);
}

function inside(at: number): number | null {
  return at >= CALENDAR_FROM_AT && at < CALENDAR_UNTIL_AT ? at : null;
}

interface WallTimes {
  after(wall: number): number | null;
  atOrBefore(wall: number): number | null;
}

interface Month {
  /** Years since 0 times 12, plus the month. */
  readonly index: number;
  /** Days since 1970-01-01. */
  readonly firstDay: number;
  readonly length: number;
  readonly mask: DayMask;
}

/** A day of slack on each side, since walls differ from instants. */
const FIRST_MONTH = 1799 * 12;
const LAST_MONTH = 10_000 * 12;

function wallTimes(spec: CronSpec): WallTimes {
  const timesMs = spec.hours.flatMap((hour) =>
    spec.minutes.map((minute) => hour * HOUR_MS + minute * MINUTE_MS),
  );
  const months = monthReader(spec);

  function matches(day: number): boolean {
    const month = months.around(day);
    return ((month.mask >>> (day - month.firstDay)) & 1) === 1;
  }

  function nextDay(day: number): number | null {
    let month = months.around(day);
    let bits = month.mask >>> (day - month.firstDay);
    let base = day;
    while (bits === 0) {
      if (month.index >= LAST_MONTH) return null;
      month = months.at(month.index + 1);
      bits = month.mask;
      base = month.firstDay;
    }
    return base + 31 - Math.clz32(bits & -bits);
  }

  function prevDay(day: number): number | null {
    let month = months.around(day);
    let bits = month.mask & (0x7fffffff >>> (30 - (day - month.firstDay)));
    while (bits === 0) {
      if (month.index <= FIRST_MONTH) return null;
      month = months.at(month.index - 1);
      bits = month.mask;
    }
    return month.firstDay + 31 - Math.clz32(bits);
  }

  return {
    after(wall) {
      const today = Math.floor(wall / DAY_MS);
      const position = countUpTo(timesMs, wall - today * DAY_MS);
      if (position < timesMs.length && matches(today)) return today * DAY_MS + timesMs[position]!;
      const day = nextDay(today + 1);
      return day === null ? null : day * DAY_MS + timesMs[0]!;
    },
    atOrBefore(wall) {
      const today = Math.floor(wall / DAY_MS);
      const position = countUpTo(timesMs, wall - today * DAY_MS);
      if (position > 0 && matches(today)) return today * DAY_MS + timesMs[position - 1]!;
      const day = prevDay(today - 1);
      return day === null ? null : day * DAY_MS + timesMs.at(-1)!;
    },
  };
}

/** How many of the ascending values are at or below `value`. */
function countUpTo(values: readonly number[], value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function monthReader(spec: CronSpec) {
  const wanted = new Set(spec.months);
  const masks = new Map<number, DayMask>();
  let current = at(1970 * 12);

  function at(index: number): Month {
    const firstDay = Date.UTC(Math.floor(index / 12), index % 12) / DAY_MS;
    const length = Date.UTC(Math.floor(index / 12), (index % 12) + 1) / DAY_MS - firstDay;
    if (!wanted.has((index % 12) + 1)) return { index, firstDay, length, mask: 0 };
    // 1970-01-01 was a Thursday.
    const firstWeekday = (((firstDay + 4) % 7) + 7) % 7;
    const key = length * 7 + firstWeekday;
    let mask = masks.get(key);
    if (mask === undefined) {
      mask = dayMask(spec, length, firstWeekday);
      masks.set(key, mask);
    }
    return { index, firstDay, length, mask };
  }

  /** The month a day lies in; a walk mostly stays in the month it was in. */
  function around(day: number): Month {
    if (day < current.firstDay || day >= current.firstDay + current.length) {
      const date = new Date(day * DAY_MS);
      current = at(date.getUTCFullYear() * 12 + date.getUTCMonth());
    }
    return current;
  }

  return { at, around };
}
