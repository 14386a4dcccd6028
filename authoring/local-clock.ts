/** A clock for bodies that run in this process: what they read as `new Date()` and `Date.now()`. */
import { AsyncLocalStorage } from "node:async_hooks";
import { parseInstant } from "../core/calendar/dates.ts";
import { Refused } from "../core/errors.ts";

export type Clock = () => number;

/** An instant as a test writes it, or a clock of its own. A text is read in the DAG's zone, as a logical date is. */
export type Now = number | string | Date | Clock;

const RealDate = globalThis.Date;
const storage = new AsyncLocalStorage<Clock>();
let users = 0;
/** What stood there before: a test may have a clock of its own. */
let before = RealDate;

/** The clock meant: an instant is where it begins, and from there it goes on. Undefined: the real one. */
export function clockOf(now: Now | undefined, zone: string): Clock {
  if (now === undefined) return () => RealDate.now();
  if (typeof now === "function") return now;
  const at = typeof now === "string" ? parseInstant(now, zone) : Number(now);
  if (!Number.isFinite(at)) {
    throw new Refused(
      "bad_date",
      `now is ${String(now)}; expected epoch milliseconds, a Date, a date text or a function`,
    );
  }
  const startedAt = RealDate.now();
  return () => at + RealDate.now() - startedAt;
}

/**
 * Calls `act` so that it, and all that it begins, reads this clock; code of others goes on with the real one. Timers,
 * `performance` and clocks of other processes stay real.
 */
export async function withClock<T>(clock: Clock, act: () => Promise<T>): Promise<T> {
  if (users++ === 0) {
    before = globalThis.Date;
    globalThis.Date = fakeDate;
  }
  try {
    return await storage.run(clock, act);
  } finally {
    if (--users === 0 && globalThis.Date === fakeDate) globalThis.Date = before;
  }
}

const nowHere = (): number => Math.floor((storage.getStore() ?? before.now)());

/** Dates are those of the real class, so that nothing can tell them apart. */
const fakeDate: DateConstructor = new Proxy(RealDate, {
  construct: (real, args: unknown[], target: unknown) =>
    Reflect.construct(
      real,
      args.length === 0 ? [nowHere()] : args,
      target === fakeDate ? real : (target as () => void),
    ) as object,
  apply: () => new RealDate(nowHere()).toString(),
  get: (real, key) => (key === "now" ? nowHere : Reflect.get(real, key)),
});
