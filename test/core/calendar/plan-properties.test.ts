import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plan, type Interval, type PlanInput } from "../../../core/calendar/plan.ts";
import { boundaries, type Timetable } from "../../../core/calendar/timetable.ts";
import { instant, PATIENCE_MS, SEED, timetable } from "./arbitraries.ts";

interface Tick {
  readonly nowAt: number;
  readonly limit: number;
  /** The process died between the answer and storing it. */
  readonly lost: boolean;
}

/** A DAG that is asked at each tick, as `createRuns` does it: runs and cursor are stored together. */
function live(given: Omit<PlanInput, "cursorAt" | "nowAt" | "limit">, ticks: readonly Tick[]) {
  const created: Interval[] = [];
  let cursorAt: number | null = null;
  for (const { nowAt, limit, lost } of ticks) {
    for (;;) {
      const answer = plan({ ...given, cursorAt, nowAt, limit });
      if (lost) break;
      created.push(...answer.intervals);
      cursorAt = answer.cursorAt;
      if (!answer.more) break;
    }
  }
  return { created, cursorAt };
}

/** A start, and a stretch of about 30 intervals with ticks anywhere in it. */
const scenario = fc
  .tuple(timetable, instant("2000-01-01", "2035-01-01"), fc.nat(), fc.option(fc.nat(), { nil: null }))
  .chain(([table, startAt, seenAfter, end]) => {
    const walk = boundaries(table);
    let lastAt = startAt;
    for (let step = 0; step < 30; step++) lastAt = walk.next(lastAt)!;
    const within = (n: number) => startAt + (n % (lastAt - startAt));
    const tick = fc.record({
      nowAt: fc.integer({ min: startAt - 1, max: lastAt }),
      limit: fc.integer({ min: 1, max: 5 }),
      lost: fc.boolean(),
    });
    return fc.record({
      given: fc.constant({
        timetable: table,
        startAt,
        endAt: end === null ? null : within(end),
        firstSeenAt: within(seenAfter),
      }),
      lastAt: fc.constant(lastAt),
      ticks: fc.array(tick, { maxLength: 25 }),
    });
  });

function wanted(
  given: { timetable: Timetable; startAt: number; endAt: number | null },
  nowAt: number,
): Interval[] {
  const walk = boundaries(given.timetable);
  const found: Interval[] = [];
  let startAt = walk.atOrAfter(given.startAt)!;
  for (let endAt = walk.next(startAt)!; endAt <= nowAt; endAt = walk.next(endAt)!) {
    if (given.endAt !== null && startAt > given.endAt) break;
    found.push({ startAt, endAt });
    startAt = endAt;
  }
  return found;
}

describe("plan, for any timetable and any ticks", () => {
  it(
    "K23: catchup on: random ticks create exactly what one call at the end creates",
    { timeout: PATIENCE_MS },
    () => {
      fc.assert(
        fc.property(scenario, ({ given, lastAt, ticks }) => {
          const final = { nowAt: lastAt, limit: 3, lost: false };
          const table = { ...given, catchup: true };
          const { created } = live(table, [...ticks, final]);
          const once = plan({ ...table, cursorAt: null, nowAt: lastAt, limit: Number.POSITIVE_INFINITY });
          expect(created).toEqual(once.intervals);
          expect(created).toEqual(wanted(given, lastAt));
        }),
        { seed: SEED, numRuns: 200 },
      );
    },
  );

  it(
    "P5: catchup off: at most one a tick, none twice, and always the latest complete one",
    { timeout: PATIENCE_MS },
    () => {
      fc.assert(
        fc.property(scenario, ({ given, lastAt, ticks }) => {
          const table = { ...given, catchup: false };
          const { created, cursorAt } = live(table, ticks);
          expect(created.length).toBeLessThanOrEqual(ticks.length);
          created.reduce(
            (before, after) => {
              expect(after.startAt).toBeGreaterThanOrEqual(before.endAt);
              return after;
            },
            { startAt: 0, endAt: Number.NEGATIVE_INFINITY },
          );

          const all = wanted(given, lastAt);
          for (const interval of created) expect(all).toContainEqual(interval);
          const answer = plan({ ...table, cursorAt, nowAt: lastAt, limit: 5 });
          const latest = all.at(-1);
          const done = latest === undefined || (cursorAt !== null && cursorAt >= latest.endAt);
          expect(answer.intervals).toEqual(done ? [] : [latest]);
        }),
        { seed: SEED, numRuns: 200 },
      );
    },
  );

  it(
    "B3: nextDueAt is exact: nothing is due a millisecond before it, something is at it",
    { timeout: PATIENCE_MS },
    () => {
      fc.assert(
        fc.property(scenario, fc.boolean(), ({ given, ticks }, catchup) => {
          const table = { ...given, endAt: null, catchup };
          const { cursorAt } = live(table, ticks);
          const ask = (nowAt: number) => plan({ ...table, cursorAt, nowAt, limit: 1 });
          const dueAt = ask(given.startAt - 1).nextDueAt!;
          expect(ask(dueAt - 1)).toMatchObject({ intervals: [], nextDueAt: dueAt, cursorAt });
          expect(ask(dueAt)).toMatchObject({ intervals: [{ endAt: dueAt }], cursorAt: dueAt, more: false });
        }),
        { seed: SEED, numRuns: 150 },
      );
    },
  );

  it(
    "K19: whatever the timetable becomes, intervals never overlap and every gap is reported",
    { timeout: PATIENCE_MS },
    () => {
      fc.assert(
        fc.property(scenario, timetable, fc.boolean(), ({ given, lastAt, ticks }, changed, finer) => {
          const before = live({ ...given, endAt: null, catchup: true }, ticks);
          fc.pre(before.cursorAt !== null);
          const cursorAt = before.cursorAt!;
          const table = {
            ...given,
            endAt: null,
            catchup: true,
            timetable: finer ? changed : given.timetable,
          };
          const walk = boundaries(table.timetable);
          const nowAt = walk.next(walk.next(walk.next(Math.max(cursorAt, lastAt))!)!)!;
          const { intervals, uncovered } = plan({ ...table, cursorAt, nowAt, limit: 2 });
          const firstAt = intervals[0]!.startAt;
          expect(firstAt).toBe(walk.atOrAfter(cursorAt));
          expect(uncovered).toEqual(firstAt === cursorAt ? null : { startAt: cursorAt, endAt: firstAt });
          expect(finer || uncovered === null).toBe(true);
        }),
        { seed: SEED, numRuns: 150 },
      );
    },
  );
});
