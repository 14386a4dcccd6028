import { describe, expect, it } from "vitest";
import { dsOf, isoOf, parseInstant } from "../../../core/calendar/dates.ts";
import { at, refusal, short } from "./helpers.ts";

describe("dsOf", () => {
  it("P4: is the calendar date in the zone", () => {
    expect(dsOf(at("2024-08-31T22:00Z"), "Europe/Berlin")).toBe("2024-09-01");
    expect(dsOf(at("2024-08-31T21:59:59.999Z"), "Europe/Berlin")).toBe("2024-08-31");
    expect(dsOf(at("2024-09-01T03:00Z"), "America/New_York")).toBe("2024-08-31");
    expect(dsOf(at("2024-09-01T03:00Z"), "UTC")).toBe("2024-09-01");
  });
});

describe("isoOf", () => {
  it("leaves out milliseconds only when there are none", () => {
    expect(isoOf(at("2024-09-01T03:00Z"))).toBe("2024-09-01T03:00:00Z");
    expect(isoOf(at("2024-09-01T03:00:00.120Z"))).toBe("2024-09-01T03:00:00.120Z");
  });
});

describe("parseInstant", () => {
  it.each([
    ["2015-12-09", "2015-12-08T23:00Z"],
    ["2015-12-09T10:00", "2015-12-09T09:00Z"],
    ["2015-06-09T10:00", "2015-06-09T08:00Z"],
    ["2015-12-09T10:00Z", "2015-12-09T10:00Z"],
    ["2015-12-09T10:00+05:30", "2015-12-09T04:30Z"],
    ["2015-12-09T10:00-0800", "2015-12-09T18:00Z"],
    ["2015-12-09T10:00:05", "2015-12-09T09:00:05Z"],
    ["2015-12-09T10:00:05.5Z", "2015-12-09T10:00:05.500Z"],
    // 29 March 2026 has no 02:30, 25 October has two.
    ["2026-03-29T02:30", "2026-03-29T01:00Z"],
    ["2026-10-25T02:30", "2026-10-25T00:30Z"],
    ["2024-02-29", "2024-02-28T23:00Z"],
  ])("%s in Europe/Berlin is %s", (text, expected) => {
    expect(short(parseInstant(text, "Europe/Berlin"))).toBe(expected);
  });

  it.each([
    "",
    "soon",
    "2015-12-9",
    "2015-12-09 10:00",
    "2015-12-09T",
    "2015-12-09T10",
    "2015-12-09Z",
    "2015-12-09T10:00 Z",
    "2015-12-09T10:00:00.1234Z",
    "12015-12-09",
    "2015-13-01",
    "2015-00-01",
    "2015-02-29",
    "2015-04-31",
    "2015-12-09T24:00",
    "2015-12-09T10:60",
    "2015-12-09T10:00:60",
    "2015-12-09T10:00+16:00",
    "2015-12-09T10:00+01:60",
    "0050-01-01",
    "1799-12-31",
  ])("refuses %j", (text) => {
    const { code, message } = refusal(() => parseInstant(text, "UTC"));
    expect(code).toBe("instant_invalid");
    expect(message).toContain(`instant "${text}" cannot be read`);
  });

  it("refuses an unknown zone even when the text has an offset", () => {
    expect(refusal(() => parseInstant("2015-12-09T10:00Z", "Mars/Base")).code).toBe("zone_unknown");
  });
});
