/** A day, where people mean the run of that day. */
import { dsOf, parseInstant } from "./dates.ts";
import { boundaries, type Timetable } from "./timetable.ts";

/** Whether a text names a day and no time of it. */
export const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text);

/** The start of the first interval that starts on the day in the DAG's zone; where there is none, of the day. */
export function startOnDay(day: string, { timetable, zone }: { timetable: Timetable; zone: string }): number {
  const at = parseInstant(day, zone);
  const startAt = boundaries(timetable).atOrAfter(at);
  return startAt !== null && dsOf(startAt, zone) === day ? startAt : at;
}
