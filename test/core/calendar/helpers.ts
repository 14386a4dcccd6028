import { boundaries, parseSchedule, type Timetable } from "../../../core/calendar/timetable.ts";
import { isoOf } from "../../../core/calendar/dates.ts";

/** `2024-03-09T08:00Z` or `2024-03-09` (midnight UTC). */
export function at(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new Error(`the test's own instant "${text}" is wrong`);
  return value;
}

/** As the cases write instants: `2024-03-09T08:00Z`. */
export function short(value: number): string {
  return isoOf(value).replace(":00Z", "Z");
}

export function cron(text: string, zone = "UTC"): Timetable {
  return parseSchedule(text, zone);
}

/** The first `count` boundaries strictly after `from`. */
export function firings(timetable: Timetable, from: string, count: number): string[] {
  const walk = boundaries(timetable);
  const found: string[] = [];
  let last = walk.next(at(from));
  while (last !== null && found.length < count) {
    found.push(short(last));
    last = walk.next(last);
  }
  return found;
}

/** The code of what `act` throws; the test fails when it throws nothing. */
export function refusal(act: () => unknown): { code: unknown; message: string } {
  try {
    act();
  } catch (error) {
    return { code: (error as { code?: unknown }).code, message: (error as Error).message };
  }
  throw new Error("expected a refusal, nothing was thrown");
}

/** Zones whose clocks do unusual things, and ordinary ones. */
export const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/Dublin",
  "America/New_York",
  "America/Santiago",
  "America/Havana",
  "America/Sao_Paulo",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Kolkata",
  "Asia/Beirut",
  "Asia/Gaza",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
  "America/Noronha",
  "Antarctica/Troll",
];
