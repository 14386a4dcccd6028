import { expect, test } from "vitest";
import { isoOf } from "../../../core/calendar/dates.ts";
import { isDay, startOnDay } from "../../../core/calendar/day.ts";
import { parseSchedule } from "../../../core/calendar/timetable.ts";

const start = (schedule: string | null, zone: string, day: string): string =>
  isoOf(startOnDay(day, { timetable: parseSchedule(schedule, zone), zone }));

test.each([
  ["0 6 * * *", "Europe/Berlin", "2026-05-09", "2026-05-09T04:00:00Z"],
  ["@daily", "Europe/Berlin", "2026-05-09", "2026-05-08T22:00:00Z"],
  ["*/5 * * * *", "UTC", "2026-05-09", "2026-05-09T00:00:00Z"],
  // No interval starts on a Saturday: the day itself.
  ["0 6 * * 1", "Europe/Berlin", "2026-05-09", "2026-05-08T22:00:00Z"],
  [null, "Asia/Tokyo", "2026-11-20", "2026-11-19T15:00:00Z"],
])("of %s in %s, %s starts at %s", (schedule, zone, day, at) => {
  expect(start(schedule, zone, day)).toBe(at);
});

test("a day has no time", () => {
  expect(["2026-05-09", "2026-05-09T00:00", "latest", "2026-5-9"].map(isDay)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
