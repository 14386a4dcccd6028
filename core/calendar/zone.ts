/**
 * Wall clocks of the world's zones. A wall time is written as the epoch milliseconds that the same
 * reading would have in UTC. Offsets come from `Intl`, found by bisection and kept per zone.
 */
import { DefinitionError } from "../errors.ts";
import { didYouMean } from "../suggest.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** No zone changed its offset before 1800; every answer of the calendar lies between these two. */
export const CALENDAR_FROM_AT = Date.UTC(1800, 0, 1);
export const CALENDAR_UNTIL_AT = Date.UTC(10_000, 0, 1);

/** A stretch `[fromAt, untilAt)` of one offset; neighbours may have the same offset. */
interface Segment {
  readonly fromAt: number;
  readonly untilAt: number;
  readonly offsetMs: number;
}

export interface Zone {
  readonly name: string;
  segmentAt(at: number): Segment;
}

/** Offsets lie within 16 h of UTC (Alaska had +15:13), and no clock ever went back by more than 24 h. */
const OFFSET_BOUND_MS = 16 * HOUR_MS;
const SET_BACK_BOUND_MS = 25 * HOUR_MS;
/** The shortest time between two changes of one zone is 7 days (Brazil, October 2000; all zones, 1850-2040). */
const SAMPLE_MS = 4 * DAY_MS;
const WINDOW_MS = 32 * SAMPLE_MS;

const zones = new Map<string, Zone>();

/** The zone of that IANA name; a DefinitionError with a suggestion when there is none. */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = name === "UTC" ? utc : compile(name);
    zones.set(name, zone);
  }
  return zone;
}

/** What the clock on the wall shows at an instant. */
export function wallOf(zone: Zone, at: number): number {
  return at + zone.segmentAt(at).offsetMs;
}

/** The latest wall time shown at or before `at`: ahead of `wallOf` in a repeated hour. */
export function wallPeak(zone: Zone, at: number): number {
  let segment = zone.segmentAt(at);
  let peak = at + segment.offsetMs;
  while (segment.fromAt > at - SET_BACK_BOUND_MS) {
    const before = zone.segmentAt(segment.fromAt - 1);
    peak = Math.max(peak, before.untilAt - 1 + before.offsetMs);
    segment = before;
  }
  return peak;
}

/** The first instant at which the clock shows `wall` or later: first pass, end of a gap (P2). */
export function firstInstant(zone: Zone, wall: number): number {
  let segment = zone.segmentAt(wall - OFFSET_BOUND_MS);
  for (;;) {
    const at = Math.max(segment.fromAt, wall - segment.offsetMs);
    if (at < segment.untilAt) return at;
    segment = zone.segmentAt(segment.untilAt);
  }
}

const ALWAYS: Segment = { fromAt: Number.NEGATIVE_INFINITY, untilAt: Number.POSITIVE_INFINITY, offsetMs: 0 };
const utc: Zone = { name: "UTC", segmentAt: () => ALWAYS };

function compile(name: string): Zone {
  const offsetOf = offsetReader(name);
  const windows = new Map<number, readonly Segment[]>();
  const before: Segment = {
    fromAt: Number.NEGATIVE_INFINITY,
    untilAt: CALENDAR_FROM_AT,
    offsetMs: offsetOf(CALENDAR_FROM_AT),
  };
  const after: Segment = {
    fromAt: CALENDAR_UNTIL_AT,
    untilAt: Number.POSITIVE_INFINITY,
    offsetMs: offsetOf(CALENDAR_UNTIL_AT),
  };
  let last = before;

  function segmentAt(at: number): Segment {
    if (at >= last.fromAt && at < last.untilAt) return last;
    if (at < CALENDAR_FROM_AT) return before;
    if (at >= CALENDAR_UNTIL_AT) return after;
    const index = Math.floor((at - CALENDAR_FROM_AT) / WINDOW_MS);
    let segments = windows.get(index);
    if (segments === undefined) {
      const fromAt = CALENDAR_FROM_AT + index * WINDOW_MS;
      segments = cut(offsetOf, fromAt, Math.min(fromAt + WINDOW_MS, CALENDAR_UNTIL_AT));
      windows.set(index, segments);
    }
    last = segments.find((segment) => at < segment.untilAt) ?? after;
    return last;
  }

  return { name, segmentAt };
}

function cut(offsetOf: (at: number) => number, fromAt: number, untilAt: number): Segment[] {
  const segments: Segment[] = [];
  let startAt = fromAt;
  let offsetMs = offsetOf(fromAt);
  let knownAt = fromAt;
  while (knownAt < untilAt) {
    const sampleAt = Math.min(knownAt + SAMPLE_MS, untilAt);
    const sampleMs = offsetOf(sampleAt);
    if (sampleMs !== offsetMs) {
      const changeAt = bisect(offsetOf, knownAt, sampleAt, offsetMs);
      segments.push({ fromAt: startAt, untilAt: changeAt, offsetMs });
      startAt = changeAt;
      offsetMs = sampleMs;
    }
    knownAt = sampleAt;
  }
  if (startAt < untilAt) segments.push({ fromAt: startAt, untilAt, offsetMs });
  return segments;
}

/** Changes happen on whole seconds. */
function bisect(offsetOf: (at: number) => number, lowAt: number, highAt: number, lowMs: number): number {
  let low = lowAt / 1000;
  let high = highAt / 1000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetOf(middle * 1000) === lowMs) low = middle;
    else high = middle;
  }
  return high * 1000;
}

function offsetReader(name: string): (at: number) => number {
  const format = formatFor(name);
  return (at) => {
    const [month, day, year, hour, minute, second] = format.format(at).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - at;
  };
}

function formatFor(name: string): Intl.DateTimeFormat {
  // Newer engines take "+02:00" as a zone and older ones do not: refused everywhere alike.
  if (/^[+-]/.test(name)) throw unknownZone(name);
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (cause) {
    throw unknownZone(name, cause);
  }
}

function unknownZone(name: string, cause?: unknown): DefinitionError {
  const known = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const word = name.toLowerCase();
  const byCity = known.find((zone) => zone.toLowerCase().endsWith(`/${word}`));
  const hint = byCity === undefined ? didYouMean(name, known) : `; did you mean "${byCity}"?`;
  return new DefinitionError(
    "zone_unknown",
    `time zone "${name}" is unknown: expected an IANA name like "UTC" or "Europe/Berlin"${hint}`,
    { cause, details: { zone: name } },
  );
}
