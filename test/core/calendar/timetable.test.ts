import { describe as group, expect, it } from "vitest";
import { between, boundaries, describe, parseSchedule } from "../../../core/calendar/timetable.ts";
import { at, cron, refusal, short } from "./helpers.ts";

group("parseSchedule", () => {
  it.each([
    ["@hourly", "0 * * * *"],
    ["@daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    ["@weekly", "0 0 * * 0"],
    ["@monthly", "0 0 1 * *"],
    ["@quarterly", "0 0 1 */3 *"],
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
    ["  0   2 * *\t* ", "0 2 * * *"],
  ])("%j is cron %j", (text, resolved) => {
    expect(parseSchedule(text, "Europe/Berlin")).toEqual({
      kind: "cron",
      cron: resolved,
      zone: "Europe/Berlin",
    });
  });

  it("null is by hand", () => {
    expect(parseSchedule(null, "UTC")).toEqual({ kind: "manual" });
  });

  it("a period has an anchor, read in the DAG's zone", () => {
    expect(parseSchedule({ everyMs: 60_000 }, "Europe/Berlin")).toEqual({
      kind: "interval",
      everyMs: 60_000,
      anchor: "1970-01-01T00:00:00Z",
    });
    expect(parseSchedule({ everyMs: 60_000, anchor: "2026-07-01" }, "Europe/Berlin")).toMatchObject({
      anchor: "2026-06-30T22:00:00Z",
    });
  });

  it("K12: refuses dates that never come", () => {
    for (const text of ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "0 0 30W 2 *", "0 0 31 2 */7"]) {
      const { code, message } = refusal(() => cron(text));
      expect(code).toBe("schedule_never_fires");
      expect(message).toContain(`schedule "${text}" never fires`);
    }
    expect(cron("0 0 30 2,3 *").kind).toBe("cron");
    expect(cron("0 0 30 2 1").kind).toBe("cron");
    expect(cron("0 0 29 2 */7").kind).toBe("cron");
    expect(cron("0 0 * 2 1#5").kind).toBe("cron");
  });

  it.each([
    ["@dayly", 'did you mean "@daily"?'],
    ["@once", "or null for a DAG that only runs when triggered"],
    [undefined, "schedule is of type undefined"],
    [5, "schedule is of type number"],
    [{}, "everyMs is undefined"],
    [{ everyMs: 0 }, "everyMs is 0"],
    [{ everyMs: 1.5 }, "everyMs is 1.5"],
    [{ everyMs: "60" }, "everyMs is 60"],
    [{ everyMs: Number.NaN }, "everyMs is NaN"],
    [{ everyMS: 5 }, 'did you mean "everyMs"?'],
    [{ everyMs: 5, anchor: 5 }, "anchor is 5"],
    [["0 2 * * *"], '"0" is unknown'],
  ])("refuses %j", (input, words) => {
    const { code, message } = refusal(() => parseSchedule(input, "UTC"));
    expect(code).toBe("schedule_invalid");
    expect(message).toContain(words);
  });

  it("refuses an anchor that is no instant", () => {
    expect(refusal(() => parseSchedule({ everyMs: 5, anchor: "soon" }, "UTC")).code).toBe("instant_invalid");
  });

  it.each([
    ["Europe/Berln", 'did you mean "Europe/Berlin"?'],
    ["Berlin", 'did you mean "Europe/Berlin"?'],
    ["+02:00", "expected an IANA name"],
    ["", "expected an IANA name"],
  ])("refuses zone %j, whatever the schedule", (zone, words) => {
    for (const schedule of ["@daily", { everyMs: 1000 }, null]) {
      const { code, message } = refusal(() => parseSchedule(schedule, zone));
      expect(code).toBe("zone_unknown");
      expect(message).toContain(words);
    }
  });
});

group("between", () => {
  it("takes its start and leaves out its end", () => {
    const found = [...between(cron("@daily"), at("2026-01-01"), at("2026-01-03"))];
    expect(found.map(short)).toEqual(["2026-01-01T00:00Z", "2026-01-02T00:00Z"]);
  });

  it("works out no more than is asked for", () => {
    for (const boundary of between(cron("* * * * *"), at("1900-01-01"), at("9999-01-01"))) {
      expect(short(boundary)).toBe("1900-01-01T00:00Z");
      break;
    }
  });

  it("is empty for a timetable by hand", () => {
    expect([...between({ kind: "manual" }, 0, 1e12)]).toEqual([]);
  });
});

group("interval boundaries", () => {
  it("lie on both sides of the anchor", () => {
    const walk = boundaries(parseSchedule({ everyMs: 90 * 60_000, anchor: "2026-01-01T00:30Z" }, "UTC"));
    expect(walk.next(at("2026-01-01T00:30Z"))).toBe(at("2026-01-01T02:00Z"));
    expect(walk.atOrAfter(at("2026-01-01T00:30Z"))).toBe(at("2026-01-01T00:30Z"));
    expect(walk.prev(at("2026-01-01T00:30Z"))).toBe(at("2025-12-31T23:00Z"));
    expect(walk.prev(at("2026-01-01T00:31Z"))).toBe(at("2026-01-01T00:30Z"));
    expect(walk.next(8.64e15)).toBeNull();
    expect(walk.prev(-8.64e15)).toBeNull();
  });
});

group("describe", () => {
  it.each([
    ["0 2 * * *", "every day at 02:00"],
    ["@hourly", "every hour on the hour"],
    ["20 * * * *", "every hour at minute 20"],
    ["2,3,5,8 * * * *", "every hour at minutes 2, 3, 5 and 8"],
    ["* * * * *", "every minute"],
    ["*/15 * * * *", "every 15 minutes"],
    ["*/7 * * * *", "every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"],
    ["0 */2 * * *", "every 2 hours on the hour"],
    ["20 */3 * * *", "every 3 hours at minute 20"],
    ["0 */5 * * *", "every day at minute 0 whenever the hour is 00, 05, 10, 15 and 20"],
    ["0 */24 * * *", "every day at minute 0 whenever the hour is 00"],
    ["0 8,20 * * *", "every day at 08:00 and 20:00"],
    ["0 7-21 * * *", "every day at minute 0 of the hours 07 to 21"],
    ["* 7-8 * * *", "every day at every minute of the hours 07 and 08"],
    ["0 0 */1 * 5", "every Friday at 00:00"],
    ["0 5 * * 7", "every Sunday at 05:00"],
    ["0 5 * * mon-fri", "every Monday to Friday at 05:00"],
    ["0 5 * * sat,sun", "every Saturday and Sunday at 05:00"],
    ["*/10 * * * 5", "every 10 minutes, every Friday"],
    ["@monthly", "on day 1 of the month at 00:00"],
    ["@quarterly", "on day 1 of January, April, July and October at 00:00"],
    ["@yearly", "on day 1 of January at 00:00"],
    ["0 0 L * *", "on the last day of the month at 00:00"],
    ["0 0 1W,LW * *", "on the workday nearest to day 1 and the last workday of the month at 00:00"],
    ["0 0 * * fri#2", "every second Friday of the month at 00:00"],
    ["0 0 * * 5L", "every last Friday of the month at 00:00"],
    ["0 10 1-7 * 1", "on days 1 to 7 of the month or every Monday at 10:00"],
    ["0 10 1-7 6 1", "on days 1 to 7 of the month or every Monday, in June at 10:00"],
    ["0 0 */28 * 1", "on days 1 and 29 of the month if a Monday at 00:00"],
    ["0 0 * 6-8 *", "every day in June to August at 00:00"],
    ["0 0 1-31 * 5", "every day at 00:00"],
  ])("%s: %s", (text, words) => {
    expect(describe(cron(text, "Europe/Berlin"))).toBe(`${words}, Europe/Berlin`);
  });

  it("K11: texts that fire alike read alike", () => {
    const texts = ["0 0 */1 * 5", "0 0 * * 5", "0 0 ? * FRI", "0 0 * */1 5-5"];
    expect(new Set(texts.map((text) => describe(cron(text)))).size).toBe(1);
  });

  it.each([
    [{ everyMs: 86_400_000 }, "every 24 hours, counted from 1970-01-01T00:00:00Z"],
    [{ everyMs: 3_600_000, anchor: "2026-01-01" }, "every hour, counted from 2026-01-01T00:00:00Z"],
    [{ everyMs: 90_000 }, "every 90 seconds, counted from 1970-01-01T00:00:00Z"],
    [{ everyMs: 1500 }, "every 1500 milliseconds, counted from 1970-01-01T00:00:00Z"],
    [null, "only when triggered"],
  ])("%j: %s", (schedule, words) => {
    expect(describe(parseSchedule(schedule, "UTC"))).toBe(words);
  });
});
