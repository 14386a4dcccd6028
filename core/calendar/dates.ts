/** Between instants and the texts people read and write. */
import { DefinitionError } from "../errors.ts";
import { CALENDAR_FROM_AT, CALENDAR_UNTIL_AT, firstInstant, wallOf, zoneOf } from "./zone.ts";

/** `YYYY-MM-DD` of an instant in the zone (P4). */
export function dsOf(at: number, zone: string): string {
  return new Date(wallOf(zoneOf(zone), at)).toISOString().slice(0, 10);
}

/** UTC ISO text; milliseconds only when there are any. */
export function isoOf(at: number): string {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

const INSTANT = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Epoch milliseconds of `2015-12-09`, `2015-12-09T10:00` (seconds, milliseconds and an offset or `Z`
 * may follow). Without an offset it is wall time in the zone, by P2: first pass, end of a gap.
 */
export function parseInstant(text: string, zone: string): number {
  const place = zoneOf(zone);
  const match = INSTANT.exec(text);
  if (match === null) throw wrong(text, "it has another form");
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const millisecond = Number((match[7] ?? "").padEnd(3, "0"));
  const wall = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!, millisecond);
  const shown = `${match[1]}-${match[2]}-${match[3]}T${match[4] ?? "00"}:${match[5] ?? "00"}:${match[6] ?? "00"}`;
  if (!isoOf(wall).startsWith(shown)) throw wrong(text, "there is no such date or time of day");
  const at = match[8] === undefined ? firstInstant(place, wall) : wall - offsetOf(match[8], text);
  if (at < CALENDAR_FROM_AT || at >= CALENDAR_UNTIL_AT)
    throw wrong(text, "it is outside the years 1800-9999");
  return at;
}

function offsetOf(word: string, text: string): number {
  if (word === "Z") return 0;
  const hours = Number(word.slice(1, 3));
  const minutes = Number(word.slice(-2));
  if (hours > 15 || minutes > 59) throw wrong(text, `"${word}" is no offset of any zone`);
  return (word.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function wrong(text: string, reason: string): DefinitionError {
  return new DefinitionError(
    "instant_invalid",
    `instant "${text}" cannot be read: ${reason}; expected "2015-12-09", "2015-12-09T10:00", ` +
      `"2015-12-09T10:00Z" or "2015-12-09T10:00+01:00"`,
    { details: { text } },
  );
}
