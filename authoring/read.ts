/** Checks of single option values. A reader answers the value it takes, or what it expected instead. */
import { zoneOf } from "../core/calendar/zone.ts";
import { ID_RULE, isId } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import type { DateInput } from "./types.ts";

export type Reader<T> = (
  value: unknown,
  // A hint is said instead of what was expected: it is the shorter way to it.
) => { readonly value: T } | { readonly expected: string; readonly hint?: string };

export const anything: Reader<unknown> = (value) => ({ value });

export const text: Reader<string> = (value) =>
  typeof value === "string" ? { value } : { expected: "a text" };

export const texts: Reader<readonly string[]> = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string" && item.trim() !== "")
    ? { value: [...new Set(value as string[])] }
    : { expected: "a list of texts" };

export const boolean: Reader<boolean> = (value) =>
  typeof value === "boolean" ? { value } : { expected: "true or false" };

export const id: Reader<string> = (value) =>
  typeof value === "string" && isId(value) ? { value } : { expected: ID_RULE };

export const duration: Reader<number> = (value) => {
  const ms = parseDuration(value);
  return ms === undefined ? { expected: DURATION_RULE } : { value: ms };
};

export const positiveDuration: Reader<number> = (value) => {
  const ms = parseDuration(value);
  return ms === undefined || ms === 0 ? { expected: `${DURATION_RULE}, above 0` } : { value: ms };
};

/** `shown`: the least, as an author writes it. */
export function durationFrom(leastMs: number, shown: string): Reader<number> {
  return (value) => {
    const ms = parseDuration(value);
    return ms === undefined || ms < leastMs
      ? { expected: `${DURATION_RULE}, at least ${shown}` }
      : { value: ms };
  };
}

export function whole(least: number, most: number): Reader<number> {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most
      ? { value }
      : { expected: `a whole number from ${least} to ${most}` };
}

export function number(least: number, most: number): Reader<number> {
  return (value) =>
    typeof value === "number" && value >= least && value <= most
      ? { value }
      : { expected: `a number from ${least} to ${most}` };
}

export function above0(most: number): Reader<number> {
  return (value) =>
    typeof value === "number" && value > 0 && value <= most
      ? { value }
      : { expected: `a number above 0, up to ${most}` };
}

export function oneOf<const T extends string>(...words: readonly T[]): Reader<T> {
  return (value) => {
    const hit = words.find((word) => word === value);
    if (hit !== undefined) return { value: hit };
    const expected = `one of ${words.map((word) => `"${word}"`).join(", ")}`;
    return typeof value === "string" ? { expected, hint: didYouMean(value, words) } : { expected };
  };
}

export function orNull<T>(reader: Reader<T>): Reader<T | null> {
  return (value) => {
    if (value === null) return { value: null };
    const answer = reader(value);
    return "expected" in answer ? { ...answer, expected: `${answer.expected}, or null` } : answer;
  };
}

export const record: Reader<Readonly<Record<string, unknown>>> = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? { value: value as Readonly<Record<string, unknown>> }
    : { expected: "an object" };

export const tasks: Reader<readonly unknown[]> = (value) =>
  Array.isArray(value) ? { value } : { expected: "a list of what task() returned, such as [rows]" };

export const timeOfDay: Reader<string> = (value) =>
  typeof value === "string" && /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.test(value)
    ? { value }
    : { expected: 'a time of day such as "06:00" or "23:59:30"' };

/** null: it is no teardown. */
export const setups: Reader<null | true | readonly unknown[]> = (value) =>
  value === null || value === true || (Array.isArray(value) && value.length > 0)
    ? { value }
    : { expected: "a list of setups, such as [make_table], or true for a teardown of none" };

/** The text itself is read later, in the DAG's zone. */
export const dateInput: Reader<DateInput> = (value) => {
  if (typeof value === "string") return { value };
  // A Date of another realm is no instance of ours.
  if (Object.prototype.toString.call(value) === "[object Date]" && !Number.isNaN(Number(value))) {
    return { value: new Date(Number(value)) };
  }
  return { expected: 'a date like "2026-01-01", an instant like "2026-01-01T06:00:00Z" or a Date' };
};

export const zone: Reader<string> = (value) => {
  if (typeof value !== "string") return { expected: 'an IANA zone like "UTC" or "Europe/Berlin"' };
  zoneOf(value);
  return { value };
};
