import { describe, expect, it } from "vitest";
import { parseInstant } from "../../core/calendar/dates.ts";
import { runIdOf } from "../../core/ids.ts";
import type { TemplateValues } from "../../core/templates.ts";
import { otherRun, untilAt } from "../../core/wait-times.ts";
import type { SerialOther } from "../../core/waits.ts";

const DAY_MS = 86_400_000;

function valuesAt(text: string, zone: string): TemplateValues {
  const at = parseInstant(text, zone);
  const own = { dagId: "d", taskId: "t", runId: "r", tryNumber: 1, mapIndex: -1, params: {}, conf: {} };
  return { ...own, zone, logicalAt: at, startAt: at, endAt: at, ds: text.slice(0, 10) };
}
const other = (beforeMs: number): SerialOther => ({
  kind: "run",
  dagId: "x",
  taskId: null,
  beforeMs,
  everyMs: 5_000,
  timeoutMs: null,
});

describe("A6: which run and which instant a wait is for", () => {
  it.each([
    ["2026-03-30T00:00", DAY_MS, "2026-03-29T00:00"],
    ["2026-03-29T00:00", DAY_MS, "2026-03-28T00:00"],
    ["2026-10-26T00:00", DAY_MS, "2026-10-25T00:00"],
    ["2026-10-26T02:30", DAY_MS, "2026-10-25T02:30"],
    ["2026-03-30T06:00", 7 * DAY_MS, "2026-03-23T06:00"],
    ["2026-05-09T06:00", 3_600_000, "2026-05-09T05:00"],
    ["2026-05-09T06:00", 0, "2026-05-09T06:00"],
  ])("regression A6: %s in Berlin, %i ms before: %s, also where the clocks change", (at, beforeMs, right) => {
    const zone = "Europe/Berlin";
    expect(otherRun(other(beforeMs), valuesAt(at, zone)).runId).toBe(runIdOf(parseInstant(right, zone)));
  });

  it.each([
    ["2026-03-29T00:00", "02:30", "2026-03-29T01:00:00.000Z"],
    ["2026-10-25T00:00", "02:30", "2026-10-25T00:30:00.000Z"],
    ["2026-05-09T00:00", "06:00", "2026-05-09T04:00:00.000Z"],
  ])("A6: on %s at %s in Berlin is %s", (at, time, right) => {
    const until = untilAt({ kind: "until", time }, valuesAt(at, "Europe/Berlin"));
    expect(new Date(until).toISOString()).toBe(right);
  });
});
