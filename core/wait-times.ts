/** Which instant, and which run, a wait is for. Pure; reads the calendar, so it is no part of a workflow. */
import { dsOf, parseInstant } from "./calendar/dates.ts";
import { CALENDAR_FROM_AT, firstInstant, wallOf, zoneOf } from "./calendar/zone.ts";
import { DefinitionError } from "./errors.ts";
import { runIdOf } from "./ids.ts";
import { compileTemplate, type TemplateValues } from "./templates.ts";
import { after, type SerialOther, type SerialUntil } from "./waits.ts";

/** Epoch ms. Throws a DefinitionError when its text comes out as no instant. */
export function untilAt(wait: SerialUntil, values: TemplateValues): number {
  const { endAt, zone } = values;
  if (wait.delayMs !== undefined) return after(endAt, wait.delayMs);
  if (wait.time !== undefined) return parseInstant(`${dsOf(endAt, zone)}T${wait.time}`, zone);
  return instantOf("at", wait.at ?? "", values);
}

/** The run of the other DAG that is waited for. Throws as `untilAt`. */
export function otherRun(
  wait: SerialOther,
  values: TemplateValues,
): { readonly logicalAt: number; readonly runId: string } {
  const logicalAt =
    wait.logicalDate === undefined
      ? earlier(values.logicalAt, wait.beforeMs, values.zone)
      : instantOf("logicalDate", wait.logicalDate, values);
  return { logicalAt, runId: runIdOf(logicalAt) };
}

const DAY_MS = 86_400_000;

/** Whole days are days of the zone's calendar: a day before midnight is midnight, whatever the clocks did (P2). */
function earlier(at: number, beforeMs: number, zone: string): number {
  const days = Math.floor(beforeMs / DAY_MS);
  if (days === 0) return at - beforeMs;
  const place = zoneOf(zone);
  if (at - beforeMs < CALENDAR_FROM_AT)
    throw new DefinitionError("instant_invalid", 'option "before" leads to a date before the year 1800');
  return firstInstant(place, wallOf(place, at) - days * DAY_MS) - (beforeMs - days * DAY_MS);
}

/** Params stand for nothing here: their schema is the DAG's code. */
const NO_PARAMS = { params: () => [] };

function instantOf(option: string, text: string, values: TemplateValues): number {
  const rendered = compileTemplate(text, NO_PARAMS, `option "${option}"`)(values) as string;
  try {
    return parseInstant(rendered, values.zone);
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    throw new DefinitionError(error.code, `option "${option}" is ${JSON.stringify(text)}: ${error.message}`);
  }
}
