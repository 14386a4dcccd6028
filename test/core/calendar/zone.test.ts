import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstInstant, wallOf, wallPeak, zoneOf } from "../../../core/calendar/zone.ts";
import { instant, PATIENCE_MS, SEED } from "./arbitraries.ts";
import { at, cron, firings, ZONES } from "./helpers.ts";

describe("zones", () => {
  it("every zone's wall clock is the one Intl shows, at any instant", { timeout: PATIENCE_MS }, () => {
    const names = [...ZONES, ...Intl.supportedValuesOf("timeZone")];
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(instant("1850-01-01", "2200-01-01"), { minLength: 5 }),
        (name, moments) => {
          const format = new Intl.DateTimeFormat("sv-SE", {
            timeZone: name,
            dateStyle: "short",
            timeStyle: "medium",
          });
          for (const moment of moments) {
            const shown = format.format(moment).replace(" ", "T");
            expect(new Date(wallOf(zoneOf(name), moment)).toISOString().slice(0, 19), name).toBe(shown);
          }
        },
      ),
      { seed: SEED, numRuns: 120 },
    );
  });

  it.each([
    ["America/Recife", "2000-10-01"],
    ["America/Boa_Vista", "2000-10-01"],
    ["America/Maceio", "2000-10-05"],
    ["Africa/Tunis", "1943-04-10"],
    ["Europe/Simferopol", "1944-04-01"],
    ["Europe/Riga", "1944-10-01"],
    ["Europe/Vienna", "1945-04-01"],
    ["Europe/Tirane", "1943-03-25"],
    ["America/Argentina/Tucuman", "2004-05-28"],
    ["Africa/El_Aaiun", "1976-04-10"],
  ])("finds changes a week or two apart: %s, %s", (name, from) => {
    const format = new Intl.DateTimeFormat("sv-SE", {
      timeZone: name,
      dateStyle: "short",
      timeStyle: "short",
    });
    const days = Array.from({ length: 30 }, (_, day) => at(from) + day * 86_400_000);
    const shown = days.map((day) => format.format(day).replace(" ", "T"));
    const ours = days.map((day) => new Date(wallOf(zoneOf(name), day)).toISOString().slice(0, 16));
    expect(ours).toEqual(shown);
    expect(new Set(shown.map((text) => text.slice(-5))).size).toBeGreaterThan(1);
  });

  it("the peak is the latest reading so far, the first instant its mirror", { timeout: PATIENCE_MS }, () => {
    const zones = fc.constantFrom(...ZONES);
    fc.assert(
      fc.property(
        zones,
        instant("1960-01-01", "2040-01-01"),
        fc.nat({ max: 200_000_000 }),
        (name, moment, aheadMs) => {
          const zone = zoneOf(name);
          const peak = wallPeak(zone, moment);
          expect(peak).toBeGreaterThanOrEqual(wallOf(zone, moment));
          // A wall time is first reached at or before a moment exactly if it is not above the peak.
          expect(firstInstant(zone, peak)).toBeLessThanOrEqual(moment);
          expect(firstInstant(zone, peak + 1)).toBeGreaterThan(moment);
          const later = firstInstant(zone, peak + aheadMs);
          expect(wallPeak(zone, later)).toBeGreaterThanOrEqual(peak + aheadMs);
          expect(wallPeak(zone, later - 1)).toBeLessThan(peak + aheadMs);
        },
      ),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it("a clock set back by almost a day: Kwajalein, October 1969", () => {
    // At 1969-10-01 00:00 (+11) it became 30 September 01:00 (-12); that day's noon fires once.
    expect(firings(cron("0 12 * * *", "Pacific/Kwajalein"), "1969-09-29T00:00Z", 3)).toEqual([
      "1969-09-29T01:00Z",
      "1969-09-30T01:00Z",
      "1969-10-02T00:00Z",
    ]);
  });
});
