/** When a DAG's intervals begin and end: a cron text in a zone, a fixed period, or only by hand. */
import { DefinitionError } from "../errors.ts";
import { didYouMean } from "../suggest.ts";
import { everFires } from "./cron-days.ts";
import { type Boundaries, cronBoundaries } from "./cron-walk.ts";
import { parseCron } from "./cron.ts";
import { isoOf, parseInstant } from "./dates.ts";
import { describeCron, describeEvery } from "./describe.ts";
import { CALENDAR_FROM_AT, CALENDAR_UNTIL_AT, zoneOf } from "./zone.ts";

export type { Boundaries } from "./cron-walk.ts";

export type Timetable =
  /** Five fields; presets are resolved when it is parsed. */
  | { readonly kind: "cron"; readonly cron: string; readonly zone: string }
  /** Boundaries are `anchor + k * everyMs`; the anchor is an ISO instant. */
  | { readonly kind: "interval"; readonly everyMs: number; readonly anchor: string }
  | { readonly kind: "manual" };

const PRESETS: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@quarterly": "0 0 1 */3 *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const DEFAULT_ANCHOR = "1970-01-01T00:00:00Z";

/** What an author wrote as `schedule`: cron text or preset, `{ everyMs, anchor? }`, or null for by hand. */
export function parseSchedule(input: unknown, zone: string): Timetable {
  zoneOf(zone);
  if (input === null) return { kind: "manual" };
  if (typeof input === "string") return parseText(input, zone);
  if (typeof input === "object") return parseInterval(input, zone);
  throw invalid(
    `schedule is of type ${typeof input}: expected cron text like "0 2 * * *", a preset like "@daily", ` +
      "{ everyMs }, or null for a DAG that only runs when triggered",
  );
}

/** The timetable compiled; make it once and walk with it. */
export function boundaries(timetable: Timetable): Boundaries {
  switch (timetable.kind) {
    case "cron":
      return cronBoundaries(parseCron(timetable.cron), zoneOf(timetable.zone));
    case "interval":
      return intervalBoundaries(timetable.everyMs, parseInstant(timetable.anchor, "UTC"));
    case "manual":
      return { next: () => null, prev: () => null, atOrAfter: () => null };
  }
}

/** The boundaries `fromAt <= b < toAt`, oldest first, each worked out when it is asked for. */
export function* between(timetable: Timetable, fromAt: number, toAt: number): Generator<number, void> {
  const walk = boundaries(timetable);
  for (let at = walk.atOrAfter(fromAt); at !== null && at < toAt; at = walk.next(at)) yield at;
}

/** In words that agree with what fires: `every day at 02:00, Europe/Berlin`. */
export function describe(timetable: Timetable): string {
  switch (timetable.kind) {
    case "cron":
      return `${describeCron(parseCron(timetable.cron))}, ${timetable.zone}`;
    case "interval":
      return `${describeEvery(timetable.everyMs)}, counted from ${timetable.anchor}`;
    case "manual":
      return "only when triggered";
  }
}

function parseText(input: string, zone: string): Timetable {
  const text = input.trim().replace(/\s+/g, " ");
  const cron = text.startsWith("@") ? preset(text) : text;
  if (!everFires(parseCron(cron))) {
    throw new DefinitionError(
      "schedule_never_fires",
      `schedule "${text}" never fires: none of its months has such a day; correct its day or month fields`,
      { details: { schedule: text } },
    );
  }
  return { kind: "cron", cron, zone };
}

function preset(text: string): string {
  const cron = Object.hasOwn(PRESETS, text) ? PRESETS[text] : undefined;
  if (cron !== undefined) return cron;
  const known = Object.keys(PRESETS);
  throw invalid(
    `schedule "${text}" is no preset: expected one of ${known.join(" ")}, cron text, ` +
      `or null for a DAG that only runs when triggered${didYouMean(text, known)}`,
  );
}

const INTERVAL_KEYS = ["everyMs", "anchor"];

function parseInterval(input: object, zone: string): Timetable {
  for (const key of Object.keys(input)) {
    if (INTERVAL_KEYS.includes(key)) continue;
    throw invalid(
      `schedule: "${key}" is unknown; expected { everyMs, anchor? }${didYouMean(key, INTERVAL_KEYS)}`,
    );
  }
  const { everyMs, anchor = DEFAULT_ANCHOR } = input as { everyMs?: unknown; anchor?: unknown };
  if (typeof everyMs !== "number" || !Number.isSafeInteger(everyMs) || everyMs < 1) {
    throw invalid(
      `schedule: everyMs is ${String(everyMs)}; expected a whole number of milliseconds above 0, ` +
        "like 3_600_000 for an hour",
    );
  }
  if (typeof anchor !== "string") {
    throw invalid(`schedule: anchor is ${String(anchor)}; expected an instant like "${DEFAULT_ANCHOR}"`);
  }
  return { kind: "interval", everyMs, anchor: isoOf(parseInstant(anchor, zone)) };
}

function intervalBoundaries(everyMs: number, anchorAt: number): Boundaries {
  const boundary = (k: number) => {
    const at = anchorAt + k * everyMs;
    return at >= CALENDAR_FROM_AT && at < CALENDAR_UNTIL_AT ? at : null;
  };
  const clamp = (at: number) => Math.min(Math.max(at, CALENDAR_FROM_AT - 1), CALENDAR_UNTIL_AT);
  const next = (at: number) => boundary(Math.floor((clamp(at) - anchorAt) / everyMs) + 1);
  return {
    next,
    prev: (at) => boundary(Math.ceil((clamp(at) - anchorAt) / everyMs) - 1),
    atOrAfter: (at) => next(at - 1),
  };
}

function invalid(message: string): DefinitionError {
  return new DefinitionError("schedule_invalid", message);
}
