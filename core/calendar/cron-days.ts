/** Which days of a month a cron spec takes. A month is known by its length and the weekday it begins on. */
import type { CronSpec, MonthDays, WeekDays } from "./cron.ts";

/** Day d of the month is bit d-1. */
export type DayMask = number;

const FULL_MONTH: DayMask = 2 ** 31 - 1;
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** P1: two restricted day fields are OR; a field that begins with `*` only narrows the other. */
export function dayMask(spec: CronSpec, length: number, firstWeekday: number): DayMask {
  const byMonth = monthDayMask(spec.monthDays, length, firstWeekday);
  const byWeek = weekDayMask(spec.weekDays, length, firstWeekday);
  const either = !spec.monthDays.starred && !spec.weekDays.starred;
  return (either ? byMonth | byWeek : byMonth & byWeek) & (FULL_MONTH >>> (31 - length));
}

/** Whether any day of any year matches: all seven first weekdays occur for each month, 29 February included. */
export function everFires(spec: CronSpec): boolean {
  return spec.months.some((month) => {
    const length = LONGEST[month - 1]!;
    return [0, 1, 2, 3, 4, 5, 6].some(
      (weekday) =>
        dayMask(spec, length, weekday) !== 0 || (month === 2 && dayMask(spec, length - 1, weekday) !== 0),
    );
  });
}

function monthDayMask(field: MonthDays, length: number, firstWeekday: number): DayMask {
  let mask = 0;
  for (const day of field.days) mask |= bit(day);
  if (field.last) mask |= bit(length);
  if (field.lastWorkday) mask |= bit(nearestWorkday(length, length, firstWeekday));
  for (const day of field.nearest) {
    if (day <= length) mask |= bit(nearestWorkday(day, length, firstWeekday));
  }
  return mask;
}

function weekDayMask(field: WeekDays, length: number, firstWeekday: number): DayMask {
  let mask = 0;
  const firstOf = (weekday: number) => 1 + ((weekday - firstWeekday + 7) % 7);
  for (const weekday of field.days) {
    for (let day = firstOf(weekday); day <= length; day += 7) mask |= bit(day);
  }
  for (const { day: weekday, n } of field.nth) {
    const day = firstOf(weekday) + (n - 1) * 7;
    if (day <= length) mask |= bit(day);
  }
  for (const weekday of field.last) {
    const first = firstOf(weekday);
    mask |= bit(first + Math.floor((length - first) / 7) * 7);
  }
  return mask;
}

/** Never leaves the month: a 1st on Saturday goes to Monday the 3rd, a last Sunday back to Friday. */
function nearestWorkday(day: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day > 1 ? day - 1 : day + 2;
  if (weekday === 0) return day < length ? day + 1 : day - 2;
  return day;
}

function bit(day: number): DayMask {
  return 1 << (day - 1);
}
