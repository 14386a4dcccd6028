import fc from "fast-check";
import { describe as group, expect, it } from "vitest";
import { intervalFor } from "../../../core/calendar/plan.ts";
import { between, boundaries, describe, parseSchedule } from "../../../core/calendar/timetable.ts";
import { instant, PATIENCE_MS, SEED, timetable } from "./arbitraries.ts";

const somewhen = instant("1965-01-01", "2045-01-01");
const STEPS = 60;

function walkFrom(walk: ReturnType<typeof boundaries>, from: number, count: number): number[] {
  const found: number[] = [];
  for (let last = walk.next(from); last !== null && found.length < count; last = walk.next(last))
    found.push(last);
  return found;
}

group("boundaries, for any timetable in any zone", () => {
  it("P3: next is strictly increasing", { timeout: PATIENCE_MS }, () => {
    fc.assert(
      fc.property(timetable, somewhen, (table, from) => {
        const found = walkFrom(boundaries(table), from, STEPS);
        expect(found).toHaveLength(STEPS);
        expect([from, ...found]).toEqual([...new Set([from, ...found])].sort((a, b) => a - b));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it("K03: prev mirrors next: prev(next(b)) = b", { timeout: PATIENCE_MS }, () => {
    fc.assert(
      fc.property(timetable, somewhen, (table, from) => {
        const walk = boundaries(table);
        const found = walkFrom(walk, from, STEPS);
        const back = [found.at(-1)!];
        while (back.length < found.length) back.push(walk.prev(back.at(-1)!)!);
        expect(back.reverse()).toEqual(found);
        expect(walk.prev(found[0]!)!).toBeLessThanOrEqual(from);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it("atOrAfter, prev and next agree on any instant between two boundaries", { timeout: PATIENCE_MS }, () => {
    fc.assert(
      fc.property(timetable, somewhen, fc.double({ min: 0, max: 1, noNaN: true }), (table, from, share) => {
        const walk = boundaries(table);
        const [a, b] = walkFrom(walk, from, 2) as [number, number];
        const inside = a + Math.floor(share * (b - a - 1));
        expect(walk.next(inside)).toBe(b);
        expect(walk.atOrAfter(inside)).toBe(inside === a ? a : b);
        expect(walk.prev(inside + 1)).toBe(a);
        expect(walk.atOrAfter(b)).toBe(b);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it("P8: the intervals of a range tile it", { timeout: PATIENCE_MS }, () => {
    fc.assert(
      fc.property(timetable, somewhen, (table, from) => {
        const starts = walkFrom(boundaries(table), from, 20);
        const intervals = starts.slice(0, -1).map((startAt) => intervalFor(table, startAt));
        expect(intervals.map(({ startAt }) => startAt)).toEqual(starts.slice(0, -1));
        expect(intervals.map(({ endAt }) => endAt)).toEqual(starts.slice(1));
        expect([...between(table, starts[0]!, starts.at(-1)!)]).toEqual(starts.slice(0, -1));
      }),
      { seed: SEED, numRuns: 100 },
    );
  });
});

it("K11: two cron texts that read alike fire alike", { timeout: PATIENCE_MS }, () => {
  const small = fc
    .tuple(
      fc.constantFrom("0", "*", "0,30", "*/30", "0-59"),
      fc.constantFrom("0", "*", "0-23", "*/2", "0-22/2", "*/24", "*/5", "0,5,10,15,20"),
      fc.constantFrom("*", "*/1", "1-31", "1", "1-7", "L", "*/28", "1,29"),
      fc.constantFrom("*", "*/1", "1-12", "1"),
      fc.constantFrom("*", "*/1", "0-7", "5", "1-5", "5L", "*/2", "0,2,4,6"),
    )
    .map((words) => words.join(" "));
  const firstOf = new Map<string, { text: string; found: string }>();
  let compared = 0;
  fc.assert(
    fc.property(small, (text) => {
      // From before an autumn change to after a spring change.
      const table = parseSchedule(text, "Europe/Berlin");
      const walk = boundaries(table);
      const all = ["2025-10-25T20:00Z", "2026-03-28T20:00Z"].flatMap((from) =>
        walkFrom(walk, Date.parse(from), 80),
      );
      const found = all.join(" ");
      const words = describe(table);
      const known = firstOf.get(words);
      if (known === undefined) firstOf.set(words, { text, found });
      else if (known.text !== text) {
        compared++;
        if (found !== known.found) expect.fail(`${text} and ${known.text} both read ${words}`);
      }
    }),
    { seed: SEED, numRuns: 2000 },
  );
  expect(compared).toBeGreaterThan(300);
});
