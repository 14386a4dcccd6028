/** Readers of arguments and options: each says what it expected. */
import { readFileSync } from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import { isoOf, parseInstant } from "../core/calendar/dates.ts";
import { isDay } from "../core/calendar/day.ts";
import { parseRunId, runIdOf } from "../core/ids.ts";
import { UsageError } from "./failure.ts";

const wrong = (message: string): InvalidArgumentError => new InvalidArgumentError(message);

export const whole =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw wrong(`Expected a whole number ${range}.`);
  };

export function integer(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw wrong("Expected a whole number.");
}

/** How many rows at the most. */
export function limit(text: string): number {
  return text === "all" ? Number.POSITIVE_INFINITY : whole(1)(text);
}

/** `--limit`, where all is what is meant without it. */
export const allByDefault = (): Option =>
  new Option("--limit <n>", "how many").argParser(limit).default(Number.POSITIVE_INFINITY, "all");

export function duration(text: string): number {
  const ms = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (ms !== undefined) return ms;
  throw wrong(`Expected seconds or ${DURATION_RULE.replace(/^.* or /, "")}.`);
}

/** A day, a time of day, or an instant; without an offset in UTC, as all times are printed. */
export function instant(text: string): string {
  try {
    return isoOf(parseInstant(text.trim().replace(" ", "T"), "UTC"));
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

/** As `instant`; a day alone stays as it is, for the DAG's zone and schedule to say when it begins. */
export function dayOrInstant(text: string): string {
  const at = instant(text);
  return isDay(text.trim()) ? text.trim() : at;
}

/** Repeated options gather. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** JSON: the text itself, `@file`, or `-` for stdin. */
export function jsonValue(name: string, given: string): unknown {
  const [text, where] = textOf(name, given);
  return parsed(
    text,
    `${name} ${where}: expected JSON; a text has quotes of its own, as in ${name} '"berlin"'`,
  );
}

/** A JSON object: the text itself, `@file`, or `-` for stdin. */
export function jsonObject(name: string, given: string): Record<string, unknown> {
  const [text, where] = textOf(name, given);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new UsageError("bad_conf", `${name} ${where}: expected a JSON object such as '{"city":"berlin"}'`);
}

function textOf(name: string, given: string): [text: string, where: string] {
  if (given !== "-" && !given.startsWith("@")) return [given, given];
  try {
    return [readFileSync(given === "-" ? 0 : given.slice(1), "utf8"), given];
  } catch (error) {
    throw new UsageError("bad_conf", `${name} ${given}: ${(error as Error).message}`, { cause: error });
  }
}

/** A run as people name it: by its id, its logical date, its day, or `latest`. Other texts are the API's to refuse. */
export type NamedRun = { readonly latest: true } | { readonly runId: string } | { readonly day: string };

export function namedRun(text: string | undefined): NamedRun {
  if (text === undefined || text === "latest") return { latest: true };
  if (parseRunId(text) !== null) return { runId: text };
  try {
    if (isDay(text.trim())) return { day: dayOrInstant(text) };
    return { runId: runIdOf(parseInstant(text.trim().replace(" ", "T"), "UTC")) };
  } catch {
    return { runId: text };
  }
}

/** `name=JSON` or `name=@file.json` of this option; repeated ones gather. */
export const named =
  (option: string) =>
  (text: string, before: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const at = text.indexOf("=");
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1) throw new UsageError("bad_input", `${option} ${text}: expected name=JSON or name=@file.json`);
    return {
      ...before,
      [name]: value.startsWith("@") ? fromFile(option, name, value.slice(1)) : fromText(option, name, value),
    };
  };

const fromText = (option: string, name: string, text: string): unknown =>
  parsed(
    text,
    `${option} ${name}=${text}: expected JSON; a text has quotes of its own, as in ${option} '${name}="berlin"'`,
  );

function fromFile(option: string, name: string, path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError("bad_input", `${option} ${name}=@${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return parsed(text, `${option} ${name}=@${path}: the file is no JSON`);
}

function parsed(text: string, problem: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError("bad_input", problem, { cause: error });
  }
}
