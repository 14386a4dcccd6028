import { describe, expect, test } from "vitest";
import { parseSchedule } from "../../../core/calendar/timetable.ts";
import { upcoming } from "../../../core/calendar/upcoming.ts";

const at = (text: string): number => Date.parse(text);
const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
const input = {
  timetable: parseSchedule("@daily", "UTC"),
  startAt: at("2026-05-01T00:00Z"),
  endAt: null,
  catchup: true,
  cursorAt: at("2026-05-08T00:00Z"),
  firstSeenAt: at("2026-05-01T00:00Z"),
  nowAt: at("2026-05-10T12:00Z"),
};
const starts = (given: Partial<Parameters<typeof upcoming>[0]>, count: number): string[] =>
  upcoming({ ...input, ...given }, count).map(({ startAt }) => iso(startAt));

describe("B1: runs that are to come", () => {
  test("those due and not made yet come first", () => {
    expect(starts({}, 3)).toEqual(["2026-05-08T00:00", "2026-05-09T00:00", "2026-05-10T00:00"]);
    expect(starts({}, 1)).toEqual(["2026-05-08T00:00"]);
  });
  test("without catchup only the latest of those", () => {
    expect(starts({ catchup: false }, 2)).toEqual(["2026-05-09T00:00", "2026-05-10T00:00"]);
  });
  test("none behind the end date, none by hand", () => {
    expect(starts({ endAt: at("2026-05-09T00:00Z") }, 5)).toEqual(["2026-05-08T00:00", "2026-05-09T00:00"]);
    expect(starts({ endAt: at("2026-05-11T00:00Z") }, 9)).toHaveLength(4);
    expect(starts({ endAt: at("2026-05-07T00:00Z") }, 5)).toEqual([]);
    expect(starts({ timetable: parseSchedule(null, "UTC") }, 5)).toEqual([]);
  });
  test("over the night clocks go forward, without a gap", () => {
    const timetable = parseSchedule("30 2 * * *", "Europe/Berlin");
    const found = upcoming(
      {
        ...input,
        timetable,
        cursorAt: at("2026-03-28T01:30Z"),
        startAt: null,
        nowAt: at("2026-03-28T02:00Z"),
      },
      3,
    );
    for (const [i, one] of found.entries()) if (i > 0) expect(one.startAt).toBe(found[i - 1]!.endAt);
    expect(found).toHaveLength(3);
  });
});
