/** A timetable in words. Built from the parsed sets, so that two texts read alike only if they fire alike. */
import type { CronSpec, MonthDays, WeekDays } from "./cron.ts";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const ORDINALS = ["", "first", "second", "third", "fourth", "fifth"];
/** More single times than this are told as minutes and hours. */
const MOST_TIMES = 6;

/** `every Friday at 00:00`, without the zone. */
export function describeCron(spec: CronSpec): string {
  const days = dayWords(spec);
  const times = timeWords(spec);
  if (times.startsWith("at ")) return `${days ?? "every day"} ${times}`;
  return days === null ? times : `${times}, ${days}`;
}

/** `every 90 minutes`: elapsed time, not wall time. */
export function describeEvery(everyMs: number): string {
  const [unitMs, unit] = UNITS.find(([length]) => everyMs % length === 0)!;
  const count = everyMs / unitMs;
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"],
  [1, "millisecond"],
];

function timeWords({ minutes, hours, hourStarred }: CronSpec): string {
  if (hourStarred) {
    const minuteStep = evenStep(minutes, 60);
    const hourStep = evenStep(hours, 24);
    const minute = minutes.length === 1 && minutes[0] === 0 ? "on the hour" : minuteWords(minutes);
    if (hourStep === null || hourStep === 24) {
      return `${minuteWords(minutes)} whenever the hour is ${hourList(hours)}`;
    }
    if (hourStep !== 1) return `every ${hourStep} hours ${minute}`;
    if (minuteStep === 1) return "every minute";
    if (minuteStep !== null && minuteStep < 60) return `every ${minuteStep} minutes`;
    return `every hour ${minute}`;
  }
  if (minutes.length * hours.length <= MOST_TIMES) {
    const times = hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`));
    return `at ${list(times)}`;
  }
  return `${minuteWords(minutes)} of the hours ${hourList(hours)}`;
}

/** Null: every day of the year. */
function dayWords({ monthDays, weekDays, months }: CronSpec): string | null {
  const names = months.length === 12 ? null : monthList(months);
  const inMonths = names === null ? "" : ` in ${names}`;
  const everyMonthDay = monthDays.days.length === 31;
  const everyWeekday = weekDays.days.length === 7;
  const either = !monthDays.starred && !weekDays.starred;
  if (either ? everyMonthDay || everyWeekday : everyMonthDay && everyWeekday) {
    return names === null ? null : `every day${inMonths}`;
  }
  const byWeek = weekdayWords(weekDays);
  if (either)
    return `${monthDayWords(monthDays, "the month")} or every ${byWeek}${inMonths && `,${inMonths}`}`;
  if (everyMonthDay) return `every ${byWeek}${inMonths}`;
  const byMonth = monthDayWords(monthDays, names ?? "the month");
  return everyWeekday ? byMonth : `${byMonth} if a ${byWeek}`;
}

function monthDayWords(field: MonthDays, month: string): string {
  const parts: string[] = [];
  if (field.days.length > 0) parts.push(`day${plural(field.days)} ${list(ranges(field.days, String))}`);
  if (field.nearest.length > 0) {
    parts.push(`the workday nearest to day${plural(field.nearest)} ${list(field.nearest.map(String))}`);
  }
  if (field.last) parts.push("the last day");
  if (field.lastWorkday) parts.push("the last workday");
  return `on ${list(parts)} of ${month}`;
}

function weekdayWords(field: WeekDays): string {
  // Monday first, so that a weekend is one range.
  const fromMonday = [...field.days].sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7));
  const parts = ranges(
    fromMonday,
    (day) => WEEKDAYS[day]!,
    (a, b) => (a + 1) % 7 === b,
  );
  for (const { day, n } of field.nth) parts.push(`${ORDINALS[n]} ${WEEKDAYS[day]} of the month`);
  for (const day of field.last) parts.push(`last ${WEEKDAYS[day]} of the month`);
  return list(parts);
}

function minuteWords(minutes: readonly number[]): string {
  const step = evenStep(minutes, 60);
  if (step === 1) return "at every minute";
  return `at minute${plural(minutes)} ${list(ranges(minutes, String))}`;
}

function hourList(hours: readonly number[]): string {
  return list(ranges(hours, two));
}

function monthList(months: readonly number[]): string {
  return list(ranges(months, (month) => MONTHS[month - 1]!));
}

/** 15 for 0, 15, 30, 45 of 60; null when the values do not divide the whole evenly from 0. */
function evenStep(values: readonly number[], whole: number): number | null {
  const step = whole / values.length;
  return values.every((value, index) => value === index * step) ? step : null;
}

/** Three or more in a row become `a to b`. */
function ranges(
  values: readonly number[],
  name: (value: number) => string,
  follows: (a: number, b: number) => boolean = (a, b) => a + 1 === b,
): string[] {
  const runs: number[][] = [];
  for (const value of values) {
    const run = runs.at(-1);
    if (run !== undefined && follows(run.at(-1)!, value)) run.push(value);
    else runs.push([value]);
  }
  return runs.flatMap((run) =>
    run.length > 2 ? [`${name(run[0]!)} to ${name(run.at(-1)!)}`] : run.map(name),
  );
}

function list(words: readonly string[]): string {
  if (words.length <= 1) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function plural(values: readonly unknown[]): string {
  return values.length === 1 ? "" : "s";
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
