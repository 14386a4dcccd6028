/** How a body waits without a slot: it ends here, and is called again when what it waits for is there. */
import { parseInstant } from "../core/calendar/dates.ts";
import { CALENDAR_UNTIL_AT } from "../core/calendar/zone.ts";
import { Terminal } from "../core/errors.ts";
import type { Deferral } from "../core/waits.ts";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import { deferring } from "./outcome.ts";
import { toOutput } from "./output.ts";
import { show } from "./show.ts";
import type { Duration } from "./types.ts";

/** What a body asks to be woken by; exactly one of the three. */
export type WakeUp =
  /** Somebody ends the wait. `timeout`: how long it may last; default null: for ever, or up to the `executionTimeout`. */
  | { readonly event: true | { readonly timeout?: Duration | null | undefined } }
  | { readonly for: Duration }
  /** A text has an offset, or Z. */
  | { readonly until: Date | string };

/** It lies in the database, and is read by each who looks at the run. */
const LARGEST_STATE_BYTES = 64 * 1024;

/**
 * Lets the try wait, without a slot or a worker: nothing after it in the body runs. Then the body is called anew, in the
 * same try, with `resumed`: what the wait was ended with (`payload`; null where only time had to pass), and `state`, what
 * is kept here. Other variables are not kept. The `executionTimeout` goes on.
 *
 * @example
 * task("export", async ({ resumed }) => {
 *   if (resumed === undefined) defer({ for: "10m" }, { state: { job: await startExport() } });
 *   return await fetchExport((resumed.state as { job: string }).job);
 * });
 */
export function defer(wakeUp: WakeUp, options: { readonly state?: unknown } = {}): never {
  const given = read(wakeUp);
  const state = "deferral" in given ? stateOf(options.state) : {};
  const wrong = "wrong" in given ? given.wrong : "wrong" in state ? state.wrong : undefined;
  if (wrong !== undefined) throw new Terminal("bad_defer", wrong);
  const { deferral } = given as { deferral: Deferral };
  throw deferring({ ...deferral, ...(state as { state?: unknown }) }, "the try waits", defer);
}

/** Of a sensor's check that has found nothing. */
export function notYet(answer: unknown): Error {
  return deferring({ on: "poke" }, `not yet: the check answered ${String(answer)}`, notYet);
}

type Read = { readonly deferral: Deferral } | { readonly wrong: string };

const WAYS =
  'expected one of { event: true }, { event: { timeout: "2h" } }, { for: "10m" } and { until: date }';

function read(given: unknown): Read {
  const keys = typeof given === "object" && given !== null ? Object.keys(given) : [];
  const [key] = keys;
  if (keys.length !== 1 || key === undefined || !Object.hasOwn(READ, key)) {
    const said = keys.length === 0 ? show(given) : `an object with ${keys.join(" and ")}`;
    return { wrong: `defer() is given ${said}; ${WAYS}` };
  }
  return READ[key as keyof typeof READ]((given as Record<string, unknown>)[key]);
}

const READ = {
  event: (value: unknown): Read => {
    const isOptions = typeof value === "object" && value !== null;
    if (value !== true && !isOptions) return { wrong: `defer() is given event: ${show(value)}; ${WAYS}` };
    const unknown = isOptions ? Object.keys(value).find((key) => key !== "timeout") : undefined;
    if (unknown !== undefined)
      return {
        wrong: `defer(): event has ${JSON.stringify(unknown)}, which does not exist; expected timeout`,
      };
    const timeout = isOptions ? (value as { timeout?: unknown }).timeout : null;
    if (timeout === null || timeout === undefined) return { deferral: { on: "event", timeoutMs: null } };
    const timeoutMs = parseDuration(timeout);
    return timeoutMs === undefined || timeoutMs === 0
      ? { wrong: `defer(): timeout is ${show(timeout)}; expected ${DURATION_RULE}, above 0, or null` }
      : { deferral: { on: "event", timeoutMs } };
  },
  for: (value: unknown): Read => {
    const ms = parseDuration(value);
    const at = Date.now() + (ms ?? Number.NaN);
    return at < CALENDAR_UNTIL_AT
      ? { deferral: { on: "time", at } }
      : { wrong: `defer() is given for: ${show(value)}; expected ${DURATION_RULE}` };
  },
  until: (value: unknown): Read => {
    const at = typeof value === "string" ? instantOf(value) : dateOf(value);
    return at < CALENDAR_UNTIL_AT
      ? { deferral: { on: "time", at } }
      : {
          wrong: `defer() is given until: ${show(value)}; expected a Date, or an instant with its offset such as "2026-05-09T06:00Z"`,
        };
  },
} satisfies Readonly<Record<string, (value: unknown) => Read>>;

/** A text without an offset would be read in the zone of whichever worker it is. */
function instantOf(text: string): number {
  if (!/(?:Z|[+-]\d\d:?\d\d)$/.test(text)) return Number.NaN;
  try {
    return parseInstant(text, "UTC");
  } catch {
    return Number.NaN;
  }
}

/** A Date of another realm is no instance of ours. */
const dateOf = (value: unknown): number =>
  Object.prototype.toString.call(value) === "[object Date]" ? Number(value) : Number.NaN;

function stateOf(given: unknown): { readonly state?: unknown } | { readonly wrong: string } {
  if (given === undefined) return {};
  const checked = toOutput(given, LARGEST_STATE_BYTES, "state");
  if (checked.ok) return { state: JSON.parse(checked.json) as unknown };
  const message = checked.error.message.replace(/^output /, "state ");
  return { wrong: `defer(): ${message}` };
}
