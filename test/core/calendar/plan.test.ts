import { describe, expect, it } from "vitest";
import { dsOf } from "../../../core/calendar/dates.ts";
import { intervalFor, plan, type PlanInput } from "../../../core/calendar/plan.ts";
import { parseSchedule } from "../../../core/calendar/timetable.ts";
import { at, cron, short } from "./helpers.ts";

type Given = Partial<Omit<PlanInput, "nowAt" | "startAt" | "endAt" | "cursorAt" | "firstSeenAt">> & {
  timetable: PlanInput["timetable"];
  now: string;
  start?: string;
  end?: string;
  cursor?: string;
  seen?: string;
};

/** The answer with instants as the cases write them. */
function planned(given: Given) {
  const answer = plan({
    timetable: given.timetable,
    startAt: given.start === undefined ? null : at(given.start),
    endAt: given.end === undefined ? null : at(given.end),
    catchup: given.catchup ?? false,
    cursorAt: given.cursor === undefined ? null : at(given.cursor),
    firstSeenAt: at(given.seen ?? given.now),
    nowAt: at(given.now),
    limit: given.limit ?? 1000,
  });
  return {
    intervals: answer.intervals.map(({ startAt, endAt }) => `${short(startAt)}/${short(endAt)}`),
    cursor: answer.cursorAt === null ? null : short(answer.cursorAt),
    nextDue: answer.nextDueAt === null ? null : short(answer.nextDueAt),
    more: answer.more,
    uncovered: answer.uncovered && `${short(answer.uncovered.startAt)}/${short(answer.uncovered.endAt)}`,
  };
}

const both = [true, false];

describe("plan", () => {
  it("K01: the two intervals round spring forward are 24 h and 23 h", () => {
    const timetable = cron("0 2 * * *", "America/Chicago");
    const given = { timetable, catchup: true, start: "2024-03-09T08:00Z", now: "2024-03-11T07:00Z" };
    expect(planned(given).intervals).toEqual([
      "2024-03-09T08:00Z/2024-03-10T08:00Z",
      "2024-03-10T08:00Z/2024-03-11T07:00Z",
    ]);
  });

  it("K06: the first interval over spring forward is 3 h", () => {
    const timetable = cron("0 */2 * * *", "America/Toronto");
    const given = { timetable, catchup: true, start: "2023-03-12T04:00Z", now: "2023-03-12T12:30Z" };
    expect(planned(given).intervals).toEqual([
      "2023-03-12T05:00Z/2023-03-12T08:00Z",
      "2023-03-12T08:00Z/2023-03-12T10:00Z",
      "2023-03-12T10:00Z/2023-03-12T12:00Z",
    ]);
  });

  it("K10: every one of the ten days gets its interval", () => {
    const timetable = cron("0 10 1-7 * 1");
    const given = { timetable, catchup: true, start: "2026-01-01", end: "2026-01-31", now: "2026-03-01" };
    const days = planned(given).intervals.map((interval) => interval.slice(8, 10));
    expect(days).toEqual(["01", "02", "03", "04", "05", "06", "07", "12", "19", "26"]);
  });

  it("K14: the monthly interval in a zone", () => {
    const timetable = cron("@monthly", "Europe/Berlin");
    const given = { timetable, catchup: true, start: "2024-08-31T22:00Z" };
    expect(planned({ ...given, now: "2024-09-30T21:59:59.999Z" })).toMatchObject({
      intervals: [],
      nextDue: "2024-09-30T22:00Z",
    });
    expect(planned({ ...given, now: "2024-09-30T22:00Z" }).intervals).toEqual([
      "2024-08-31T22:00Z/2024-09-30T22:00Z",
    ]);
    const september = { startAt: at("2024-08-31T22:00Z"), endAt: at("2024-09-30T22:00Z") };
    const october = { startAt: at("2024-09-30T22:00Z"), endAt: at("2024-10-31T23:00Z") };
    expect(intervalFor(timetable, september.startAt)).toEqual(september);
    expect(intervalFor(timetable, september.endAt)).toEqual(october);
    expect(dsOf(september.startAt, "Europe/Berlin")).toBe("2024-09-01");
    expect(dsOf(october.startAt, "Europe/Berlin")).toBe("2024-10-01");
  });

  it.each(both)("K15: a start date inside a period, catchup %s", (catchup) => {
    const given = {
      timetable: cron("@daily"),
      catchup,
      start: "2026-03-10T09:00Z",
      seen: "2026-03-10T12:00Z",
    };
    for (const now of ["2026-03-10T12:00Z", "2026-03-11T00:00Z", "2026-03-11T23:59Z"]) {
      expect(planned({ ...given, now })).toEqual({
        intervals: [],
        cursor: null,
        nextDue: "2026-03-12T00:00Z",
        more: false,
        uncovered: null,
      });
    }
    expect(planned({ ...given, now: "2026-03-12T00:00Z" })).toMatchObject({
      intervals: ["2026-03-11T00:00Z/2026-03-12T00:00Z"],
      cursor: "2026-03-12T00:00Z",
      nextDue: "2026-03-13T00:00Z",
    });
  });

  it("K16: catchup off creates one run, not two, for cron and period alike", () => {
    for (const timetable of [cron("@daily"), parseSchedule({ everyMs: 86_400_000 }, "UTC")]) {
      const given = { timetable, start: "2018-01-01", seen: "2018-11-19T10:00Z" };
      const first = planned({ ...given, now: "2018-11-19T10:00Z" });
      expect(first).toMatchObject({
        intervals: ["2018-11-18T00:00Z/2018-11-19T00:00Z"],
        cursor: "2018-11-19T00:00Z",
        nextDue: "2018-11-20T00:00Z",
      });
      const again = { ...given, cursor: first.cursor! };
      expect(planned({ ...again, now: "2018-11-19T23:59Z" }).intervals).toEqual([]);
      expect(planned({ ...again, now: "2018-11-20T00:00Z" }).intervals).toEqual([
        "2018-11-19T00:00Z/2018-11-20T00:00Z",
      ]);
    }
  });

  it("K17: paused over two ticks, catchup off", () => {
    const given = { timetable: cron("@daily"), start: "2026-01-01", cursor: "2026-01-31" };
    expect(planned({ ...given, now: "2026-02-02T15:00Z" })).toMatchObject({
      intervals: ["2026-02-01T00:00Z/2026-02-02T00:00Z"],
      cursor: "2026-02-02T00:00Z",
      nextDue: "2026-02-03T00:00Z",
    });
  });

  it("K18: the end date is the last logical date", () => {
    for (const timetable of [cron("@hourly"), parseSchedule({ everyMs: 3_600_000 }, "UTC")]) {
      const given = { timetable, catchup: true, start: "2015-01-01T00:00Z", end: "2015-01-01T02:00Z" };
      expect(planned({ ...given, now: "2015-01-01T02:59Z" })).toMatchObject({ nextDue: "2015-01-01T03:00Z" });
      const last = planned({ ...given, now: "2015-01-01T09:00Z" });
      expect(last).toEqual({
        intervals: [
          "2015-01-01T00:00Z/2015-01-01T01:00Z",
          "2015-01-01T01:00Z/2015-01-01T02:00Z",
          "2015-01-01T02:00Z/2015-01-01T03:00Z",
        ],
        cursor: "2015-01-01T03:00Z",
        nextDue: null,
        more: false,
        uncovered: null,
      });
      const later = { ...given, cursor: last.cursor!, now: "2015-01-02" };
      expect(planned(later)).toMatchObject({ intervals: [], cursor: last.cursor, nextDue: null });
      // Catchup off: the latest complete interval of the DAG, which is its last.
      expect(planned({ ...given, catchup: false, now: "2015-01-01T09:00Z" })).toMatchObject({
        intervals: ["2015-01-01T02:00Z/2015-01-01T03:00Z"],
        nextDue: null,
      });
    }
  });

  it.each(both)("K19: a coarser schedule in mid-life, catchup %s", (catchup) => {
    const given = { catchup, start: "2026-05-04", cursor: "2026-05-04T01:00Z" };
    const daily = { ...given, timetable: cron("0 0 * * *") };
    for (const now of ["2026-05-04T01:10Z", "2026-05-05T00:00Z", "2026-05-05T23:59Z"]) {
      expect(planned({ ...daily, now })).toEqual({
        intervals: [],
        cursor: "2026-05-04T01:00Z",
        nextDue: "2026-05-06T00:00Z",
        more: false,
        uncovered: "2026-05-04T01:00Z/2026-05-05T00:00Z",
      });
    }
    const due = planned({ ...daily, now: "2026-05-06T00:00Z" });
    expect(due).toMatchObject({
      intervals: ["2026-05-05T00:00Z/2026-05-06T00:00Z"],
      cursor: "2026-05-06T00:00Z",
      uncovered: "2026-05-04T01:00Z/2026-05-05T00:00Z",
    });
    expect(planned({ ...daily, cursor: due.cursor!, now: "2026-05-06T00:00Z" }).uncovered).toBeNull();
    // Changed back within the hour: as if nothing had been.
    expect(planned({ ...given, timetable: cron("@hourly"), now: "2026-05-04T02:00Z" })).toMatchObject({
      intervals: ["2026-05-04T01:00Z/2026-05-04T02:00Z"],
      uncovered: null,
    });
  });

  it("K19: a finer schedule goes on where the coarse one ended", () => {
    const given = { timetable: cron("@hourly"), catchup: true, start: "2026-05-01", cursor: "2026-05-04" };
    expect(planned({ ...given, now: "2026-05-04T02:00Z" })).toMatchObject({
      intervals: ["2026-05-04T00:00Z/2026-05-04T01:00Z", "2026-05-04T01:00Z/2026-05-04T02:00Z"],
      uncovered: null,
    });
  });

  it("K20: a manual run on a boundary gets the scheduled interval", () => {
    const timetable = cron("20 */3 * * *");
    expect(intervalFor(timetable, at("2024-07-24T06:20Z"))).toEqual({
      startAt: at("2024-07-24T06:20Z"),
      endAt: at("2024-07-24T09:20Z"),
    });
  });

  it("K21: uneven minutes", () => {
    const given = { timetable: cron("2,3,5,8 * * * *"), catchup: true, start: "2026-01-01T10:02Z" };
    expect(planned({ ...given, now: "2026-01-01T11:02Z" }).intervals).toEqual([
      "2026-01-01T10:02Z/2026-01-01T10:03Z",
      "2026-01-01T10:03Z/2026-01-01T10:05Z",
      "2026-01-01T10:05Z/2026-01-01T10:08Z",
      "2026-01-01T10:08Z/2026-01-01T11:02Z",
    ]);
  });

  it.each(both)("K22: a restart just after a tick fires no second time, catchup %s", (catchup) => {
    const given = { timetable: cron("35 5 * * *", "Etc/GMT-1"), catchup, start: "2026-01-01" };
    const before = { ...given, cursor: "2026-03-09T04:35Z" };
    const first = planned({ ...before, now: "2026-03-10T04:39Z" });
    expect(first.intervals).toEqual(["2026-03-09T04:35Z/2026-03-10T04:35Z"]);
    for (const now of ["2026-03-10T04:39Z", "2026-03-10T05:39Z"]) {
      expect(planned({ ...given, cursor: first.cursor!, now })).toMatchObject({
        intervals: [],
        cursor: first.cursor,
        nextDue: "2026-03-11T04:35Z",
      });
    }
  });

  it("K23: back after an outage", () => {
    const given = { timetable: cron("20 * * * *"), start: "2026-01-01", cursor: "2026-03-10T00:20Z" };
    const now = "2026-03-10T05:40Z";
    expect(planned({ ...given, now }).intervals).toEqual(["2026-03-10T04:20Z/2026-03-10T05:20Z"]);
    const ends = planned({ ...given, catchup: true, now }).intervals.map((interval) => interval.slice(-6));
    expect(ends).toEqual(["01:20Z", "02:20Z", "03:20Z", "04:20Z", "05:20Z"]);
  });
});

describe("plan, further", () => {
  it("P5: a DAG without start date begins at the first boundary after it was first seen", () => {
    const given = { timetable: cron("@daily"), catchup: true, seen: "2026-03-10T12:00Z" };
    expect(planned({ ...given, now: "2026-03-10T12:00Z" })).toMatchObject({
      intervals: [],
      nextDue: "2026-03-12T00:00Z",
    });
  });

  it("P5: overdue by exactly one interval, catchup off, loses nothing", () => {
    const given = { timetable: cron("@hourly"), start: "2026-01-01", cursor: "2026-03-10T01:00Z" };
    expect(planned({ ...given, now: "2026-03-10T02:59Z" }).intervals).toEqual([
      "2026-03-10T01:00Z/2026-03-10T02:00Z",
    ]);
  });

  it("answers in pages, and the last page says so", () => {
    const given = { timetable: cron("@hourly"), catchup: true, start: "2026-01-01", limit: 2 };
    const now = "2026-01-01T04:30Z";
    const first = planned({ ...given, now });
    expect(first).toMatchObject({
      intervals: ["2026-01-01T00:00Z/2026-01-01T01:00Z", "2026-01-01T01:00Z/2026-01-01T02:00Z"],
      cursor: "2026-01-01T02:00Z",
      nextDue: "2026-01-01T03:00Z",
      more: true,
    });
    expect(planned({ ...given, cursor: first.cursor!, now })).toMatchObject({
      cursor: "2026-01-01T04:00Z",
      more: false,
    });
  });

  it("a start date moved ahead of the cursor is obeyed and is no gap", () => {
    const given = {
      timetable: cron("@daily"),
      catchup: true,
      cursor: "2026-01-05",
      start: "2026-01-08T06:00Z",
    };
    expect(planned({ ...given, now: "2026-01-12" })).toMatchObject({
      intervals: [
        "2026-01-09T00:00Z/2026-01-10T00:00Z",
        "2026-01-10T00:00Z/2026-01-11T00:00Z",
        "2026-01-11T00:00Z/2026-01-12T00:00Z",
      ],
      uncovered: null,
    });
  });

  it("a start date moved behind the cursor creates nothing again", () => {
    const given = { timetable: cron("@daily"), catchup: true, cursor: "2026-01-05", start: "2025-01-01" };
    expect(planned({ ...given, now: "2026-01-05T12:00Z" })).toMatchObject({
      intervals: [],
      cursor: "2026-01-05T00:00Z",
    });
  });

  it("an end date before the cursor ends it, without a gap to report", () => {
    const given = { timetable: cron("@daily"), cursor: "2026-01-05T01:00Z", end: "2026-01-03" };
    expect(planned({ ...given, now: "2026-02-01" })).toMatchObject({
      intervals: [],
      nextDue: null,
      uncovered: null,
    });
  });

  it("by hand: never due, the cursor stays", () => {
    const given = { timetable: { kind: "manual" }, start: "2026-01-01", cursor: "2026-01-05" } as const;
    expect(planned({ ...given, catchup: true, now: "2026-02-01" })).toEqual({
      intervals: [],
      cursor: "2026-01-05T00:00Z",
      nextDue: null,
      more: false,
      uncovered: null,
    });
  });

  it("P13: off a boundary or by hand the interval is empty", () => {
    const moment = at("2024-07-24T06:20:00.001Z");
    const empty = { startAt: moment, endAt: moment };
    expect(intervalFor(cron("20 */3 * * *"), moment)).toEqual(empty);
    expect(intervalFor({ kind: "manual" }, moment)).toEqual(empty);
  });
});
