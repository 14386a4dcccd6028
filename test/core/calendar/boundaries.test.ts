import { describe, expect, it } from "vitest";
import { between, boundaries } from "../../../core/calendar/timetable.ts";
import { at, cron, firings, short } from "./helpers.ts";

describe("clocks that change", () => {
  it("K01: a daily time that spring forward skips fires at the end of the gap", () => {
    const daily = cron("0 2 * * *", "America/Chicago");
    expect(firings(daily, "2024-03-09", 3)).toEqual([
      "2024-03-09T08:00Z",
      "2024-03-10T08:00Z",
      "2024-03-11T07:00Z",
    ]);
  });

  it("K02: both changes in one zone give one firing a day", () => {
    expect(firings(cron("0 2 * * *", "Europe/Berlin"), "2026-03-28", 3)).toEqual([
      "2026-03-28T01:00Z",
      "2026-03-29T01:00Z",
      "2026-03-30T00:00Z",
    ]);
    expect(firings(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24", 3)).toEqual([
      "2026-10-24T00:30Z",
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
  });

  it("K03: backwards is the mirror of forwards in the repeated hour", () => {
    const walk = boundaries(cron("30 1 * * *", "America/New_York"));
    expect(walk.prev(at("2025-11-02T07:00Z"))).toBe(at("2025-11-02T05:30Z"));
    expect(walk.prev(at("2025-11-02T05:30Z"))).toBe(at("2025-11-01T05:30Z"));
    expect(walk.next(at("2025-11-02T05:30Z"))).toBe(at("2025-11-03T06:30Z"));
    expect(walk.prev(walk.next(at("2025-11-02T05:30Z"))!)).toBe(at("2025-11-02T05:30Z"));
    // Inside the second pass nothing is due, and the first pass is what lies behind.
    expect(walk.atOrAfter(at("2025-11-02T06:30Z"))).toBe(at("2025-11-03T06:30Z"));
    expect(walk.prev(at("2025-11-02T06:10Z"))).toBe(at("2025-11-02T05:30Z"));
  });

  it("K04: short periods do not pause in the repeated hour", () => {
    const quarters = cron("*/15 * * * *", "Europe/London");
    const autumn = [...between(quarters, at("2025-10-25T23:00Z"), at("2025-10-27T00:00Z"))];
    const spring = [...between(quarters, at("2025-03-30T00:00Z"), at("2025-03-30T23:00Z"))];
    expect([autumn.length, spring.length]).toEqual([100, 92]);
    for (const day of [autumn, spring]) {
      expect(new Set(day.slice(1).map((value, index) => value - day[index]!))).toEqual(
        new Set([15 * 60_000]),
      );
    }
  });

  it("K05: an hour range goes on after the night of the change", () => {
    expect(firings(cron("0 7-21 * * *", "Europe/Paris"), "2023-10-28T17:59Z", 5)).toEqual([
      "2023-10-28T18:00Z",
      "2023-10-28T19:00Z",
      "2023-10-29T06:00Z",
      "2023-10-29T07:00Z",
      "2023-10-29T08:00Z",
    ]);
  });

  it("K06: every second hour adds nothing for the skipped hour", () => {
    expect(firings(cron("0 */2 * * *", "America/Toronto"), "2023-03-12T04:00Z", 4)).toEqual([
      "2023-03-12T05:00Z",
      "2023-03-12T08:00Z",
      "2023-03-12T10:00Z",
      "2023-03-12T12:00Z",
    ]);
  });

  it("P2: a starred hour fires on both passes", () => {
    expect(firings(cron("30 * * * *", "Europe/Berlin"), "2026-10-25T00:00Z", 3)).toEqual([
      "2026-10-25T00:30Z",
      "2026-10-25T01:30Z",
      "2026-10-25T02:30Z",
    ]);
  });

  it("P2: from inside the second pass, the time that ends it comes next", () => {
    // 03:00 would have been shown at 01:00Z; the clock went back to 02:00 instead.
    const walk = boundaries(cron("0 3 * * *", "Europe/Berlin"));
    expect(short(walk.next(at("2026-10-25T01:30Z"))!)).toBe("2026-10-25T02:00Z");
    expect(short(walk.prev(at("2026-10-25T01:30Z"))!)).toBe("2026-10-24T01:00Z");
  });

  it("P2: a starred hour fires on the instant of the change, both ways", () => {
    const walk = boundaries(cron("@hourly", "Europe/Berlin"));
    expect(short(walk.next(at("2026-03-29T00:30Z"))!)).toBe("2026-03-29T01:00Z");
    expect(short(walk.prev(at("2026-03-29T01:30Z"))!)).toBe("2026-03-29T01:00Z");
    expect(short(walk.prev(at("2026-10-25T01:30Z"))!)).toBe("2026-10-25T01:00Z");
  });

  it("P2: several wall times in one gap fire once", () => {
    expect(firings(cron("0,20,40 2,3 * * *", "Europe/Berlin"), "2026-03-29T00:00Z", 4)).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-29T01:20Z",
      "2026-03-29T01:40Z",
      "2026-03-30T00:00Z",
    ]);
  });

  it("K07: midnight itself does not exist", () => {
    expect(firings(cron("0 0 * * 0", "America/Santiago"), "2025-08-30", 10)).toEqual([
      "2025-08-31T04:00Z",
      "2025-09-07T04:00Z",
      "2025-09-14T03:00Z",
      "2025-09-21T03:00Z",
      "2025-09-28T03:00Z",
      "2025-10-05T03:00Z",
      "2025-10-12T03:00Z",
      "2025-10-19T03:00Z",
      "2025-10-26T03:00Z",
      "2025-11-02T03:00Z",
    ]);
  });

  it("K08: a change of half an hour", () => {
    const daily = cron("45 1 * * *", "Australia/Lord_Howe");
    expect(firings(daily, "2026-04-03T13:00Z", 3)).toEqual([
      "2026-04-03T14:45Z",
      "2026-04-04T14:45Z",
      "2026-04-05T15:15Z",
    ]);
    // The clock there goes from 02:00 to 02:30 in October.
    expect(firings(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-02T16:00Z", 3)).toEqual([
      "2026-10-03T15:30Z",
      "2026-10-04T15:15Z",
      "2026-10-05T15:15Z",
    ]);
  });

  it("K09: day 7 is Sunday, and the walk goes on after the gap", () => {
    for (const day of ["7", "0", "sun"]) {
      expect(firings(cron(`0 5 * * ${day}`, "Europe/Rome"), "2025-03-22", 3)).toEqual([
        "2025-03-23T04:00Z",
        "2025-03-30T03:00Z",
        "2025-04-06T03:00Z",
      ]);
      expect(firings(cron(`30 2 * * ${day}`, "Europe/Rome"), "2025-03-22", 3)).toEqual([
        "2025-03-23T01:30Z",
        "2025-03-30T01:00Z",
        "2025-04-06T00:30Z",
      ]);
    }
  });

  it("P2: a whole day that a zone left out fires at its end", () => {
    // Samoa had no 30 December 2011.
    expect(firings(cron("0 12 * * *", "Pacific/Apia"), "2011-12-29T00:00Z", 3)).toEqual([
      "2011-12-29T22:00Z",
      "2011-12-30T10:00Z",
      "2011-12-30T22:00Z",
    ]);
    expect(firings(cron("0 */12 * * *", "Pacific/Apia"), "2011-12-29T20:00Z", 3)).toEqual([
      "2011-12-29T22:00Z",
      "2011-12-30T10:00Z",
      "2011-12-30T22:00Z",
    ]);
  });
});

describe("days", () => {
  const january = (text: string) =>
    [...between(cron(text), at("2026-01-01"), at("2026-02-01"))].map((value) => new Date(value).getUTCDate());

  it("K10: two restricted day fields are OR", () => {
    expect(january("0 10 1-7 * 1")).toEqual([1, 2, 3, 4, 5, 6, 7, 12, 19, 26]);
  });

  it("K11: a starred step beside a weekday counts as unrestricted", () => {
    expect(january("0 0 */1 * 5")).toEqual([2, 9, 16, 23, 30]);
    expect(january("0 0 10 * */1")).toEqual([10]);
    // A starred step that leaves days out narrows the other field, never widens it.
    expect(january("0 0 */2 * 5")).toEqual([9, 23]);
  });

  it("K12: rare dates are found at once", () => {
    const startedMs = performance.now();
    const leap = cron("0 0 29 2 *");
    expect(firings(leap, "2026-01-01", 2)).toEqual(["2028-02-29T00:00Z", "2032-02-29T00:00Z"]);
    expect(firings(leap, "2096-02-29", 1)).toEqual(["2104-02-29T00:00Z"]);
    expect(firings(cron("0 * 29 2 *", "Europe/Berlin"), "2096-03-01", 1)).toEqual(["2104-02-28T23:00Z"]);
    // A 29 February that is a Sunday: every 28 years.
    expect(firings(cron("0 0 29 2 */7"), "2097-01-01", 2)).toEqual([
      "2128-02-29T00:00Z",
      "2156-02-29T00:00Z",
    ]);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });

  it("K13: month end and extensions", () => {
    const year = (text: string, from: string, to: string) =>
      [...between(cron(text), at(from), at(to))].map((value) => short(value).slice(5, 10));
    expect(year("0 0 31 * *", "2026-01-01", "2027-01-01")).toEqual([
      "01-31",
      "03-31",
      "05-31",
      "07-31",
      "08-31",
      "10-31",
      "12-31",
    ]);
    const lastDays = year("0 0 L * *", "2026-01-01", "2027-01-01");
    expect(lastDays).toHaveLength(12);
    expect(lastDays[1]).toBe("02-28");
    expect(year("0 0 L 2 *", "2028-01-01", "2029-01-01")).toEqual(["02-29"]);
    expect(year("0 0 1W * *", "2026-08-01", "2026-09-01")).toEqual(["08-03"]);
    expect(year("0 0 31W * *", "2026-05-01", "2026-07-01")).toEqual(["05-29"]);
    expect(year("0 0 LW * *", "2026-05-01", "2026-07-01")).toEqual(["05-29", "06-30"]);
    expect(year("0 0 * * fri#2", "2026-01-01", "2026-03-01")).toEqual(["01-09", "02-13"]);
    expect(year("0 0 * * 1#5", "2026-01-01", "2026-07-01")).toEqual(["03-30", "06-29"]);
    expect(year("0 0 * * 5L", "2026-01-01", "2026-03-01")).toEqual(["01-30", "02-27"]);
    expect(year("0 0 15,L * *", "2026-01-01", "2026-03-01")).toEqual(["01-15", "01-31", "02-15", "02-28"]);
  });
});

describe("the ends of the calendar", () => {
  it("has no boundary before 1800 and after 9999", () => {
    const daily = boundaries(cron("0 0 * * *", "Europe/Berlin"));
    expect(daily.prev(at("1700-01-01"))).toBeNull();
    expect(short(daily.next(at("1700-01-01"))!)).toMatch(/^1800-01-01T/);
    expect(daily.next(8.64e15)).toBeNull();
    expect(short(daily.prev(8.64e15)!)).toBe("9999-12-31T23:00Z");
    expect(daily.next(daily.prev(8.64e15)!)).toBeNull();
    const hourly = boundaries(cron("@hourly", "Europe/Berlin"));
    expect(hourly.prev(at("1700-01-01"))).toBeNull();
    expect(hourly.next(hourly.prev(8.64e15)!)).toBeNull();
  });

  it("manual has no boundaries at all", () => {
    const walk = boundaries({ kind: "manual" });
    expect([walk.next(0), walk.prev(0), walk.atOrAfter(0)]).toEqual([null, null, null]);
  });
});

it("walks 20,000 boundaries of a common schedule in a second", () => {
  for (const text of ["0 2 * * *", "*/15 * * * *", "0 7-21 * * 1-5"]) {
    const walk = boundaries(cron(text, "Asia/Amman"));
    // The best of three, since the machine may be busy with other things.
    const tookMs = [1, 2, 3].map(() => {
      const startedMs = performance.now();
      let last = at("2024-01-01");
      for (let step = 0; step < 20_000; step++) last = walk.next(last)!;
      return performance.now() - startedMs;
    });
    expect(Math.min(...tookMs), text).toBeLessThan(1000);
  }
});
