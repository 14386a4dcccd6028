import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCron } from "../../../core/calendar/cron.ts";
import { boundaries, parseSchedule, type Timetable } from "../../../core/calendar/timetable.ts";
import { cronTable, cronText, instant, PATIENCE_MS, SEED } from "./arbitraries.ts";
import { ZONES } from "./helpers.ts";

const DAY_MS = 86_400_000;
const HALF_HOUR_MS = 1_800_000;

function walkFrom(table: Timetable, fromAt: number, untilAt: number): number[] {
  const walk = boundaries(table);
  const found: number[] = [];
  for (let last = walk.next(fromAt); last !== null && last < untilAt; last = walk.next(last))
    found.push(last);
  return found;
}

/** What `Intl` itself shows on the wall, in minutes since 1970. */
function wallReader(name: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: name,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (at) => Math.floor(Date.parse(`${format.format(at).replace(" ", "T")}Z`) / 60_000);
}

/** The day of each change of a clock in 18 months, Samoa's left-out day among them. */
const CHANGES = ZONES.flatMap((name) => {
  const read = wallReader(name);
  const offset = (at: number) => read(at) - at / 60_000;
  const days = Array.from({ length: 550 }, (_, day) => Date.UTC(2010, 7, 1 + day));
  return days.filter((at) => offset(at) !== offset(at + DAY_MS)).map((at) => ({ name, at }));
});

/** The wall at each minute from a day before to a day after the day of a change. */
const readings = new Map<string, readonly number[]>();
function readingsOf({ name, at }: { name: string; at: number }): readonly number[] {
  const key = `${name} ${at}`;
  let walls = readings.get(key);
  if (walls === undefined) {
    const read = wallReader(name);
    walls = Array.from({ length: 3 * 1440 }, (_, minute) => read(at - DAY_MS + minute * 60_000));
    readings.set(key, walls);
  }
  return walls;
}

/** P2 read off the clock, minute by minute, for the two days after `change.at`. */
function scan(text: string, change: { name: string; at: number }): number[] {
  const walls = readingsOf(change);
  const { hourStarred } = parseCron(text);
  // The wall times that match, taken from a zone whose clock never changes.
  const firstAt = (walls[0]! - 2 * 1440) * 60_000;
  const inUtc = { kind: "cron", cron: text, zone: "UTC" } as const;
  const matching = new Set(walkFrom(inUtc, firstAt, firstAt + 8 * DAY_MS).map((wallMs) => wallMs / 60_000));
  const found: number[] = [];
  let peak = walls[0]! - 1;
  for (const [minute, wall] of walls.entries()) {
    let fires = hourStarred && matching.has(wall);
    for (let shown = peak + 1; !hourStarred && shown <= wall; shown++) fires ||= matching.has(shown);
    peak = Math.max(peak, wall);
    const at = change.at - DAY_MS + minute * 60_000;
    if (fires && at > change.at) found.push(at);
  }
  return found;
}

/** croner has nothing for a whole day that is left out, where P2 fires at its end. */
const PARTIAL = CHANGES.filter(({ name }) => name !== "Pacific/Apia");

describe("against other readers of the same clock", () => {
  it(
    "P2: agrees with the wall clock read minute by minute round every kind of change",
    { timeout: PATIENCE_MS },
    () => {
      expect(CHANGES.length).toBeGreaterThan(30);
      fc.assert(
        fc.property(cronText, fc.constantFrom(...CHANGES), (text, change) => {
          const table = { kind: "cron", cron: text, zone: change.name } as const;
          const untilAt = change.at + 2 * DAY_MS;
          const expected = scan(text, change);
          expect(walkFrom(table, change.at, untilAt)).toEqual(expected);

          // From anywhere, the repeated hour included, in both directions.
          const walk = boundaries(table);
          for (let at = change.at + HALF_HOUR_MS; at < untilAt; at += HALF_HOUR_MS) {
            const after = expected.find((fire) => fire > at);
            const before = expected.findLast((fire) => fire < at);
            if (after !== undefined && walk.next(at) !== after) expect.fail(`next of ${at} is not ${after}`);
            if (before !== undefined && walk.prev(at) !== before)
              expect.fail(`prev of ${at} is not ${before}`);
          }
        }),
        { seed: SEED, numRuns: 250 },
      );
    },
  );

  it(
    "P1: agrees with croner on days and times in UTC, unless a day field begins with a starred step",
    { timeout: PATIENCE_MS },
    () => {
      fc.assert(
        fc.property(cronTable, instant("1995-01-01", "2040-01-01"), (table, from) => {
          const text = table.kind === "cron" ? table.cron : "";
          fc.pre(!/^\S+ \S+ \*\/|\*\/\d+$/.test(text));
          const theirs = new Cron(text, { timezone: "UTC", mode: "5-part", paused: true }).nextRuns(
            12,
            new Date(from),
          );
          const untilAt = theirs.at(-1)!.getTime() + 1;
          expect(walkFrom({ kind: "cron", cron: text, zone: "UTC" }, from, untilAt)).toEqual(
            theirs.map((run) => run.getTime()),
          );
        }),
        { seed: SEED, numRuns: 150 },
      );
    },
  );

  it("P2: agrees with croner on fixed times round changes in any zone", { timeout: PATIENCE_MS }, () => {
    const few = (max: number) => fc.uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(few(59), few(4), fc.constantFrom(...PARTIAL), (minutes, hours, change) => {
        const text = `${minutes.join(",")} ${hours.join(",")} * * *`;
        const options = { mode: "5-part", paused: true, fixedTimeRule: "no-wildcard" } as const;
        const job = new Cron(text, { ...options, timezone: change.name });
        const theirs: number[] = [];
        const untilAt = change.at + 3 * DAY_MS;
        let run = job.nextRun(new Date(change.at - DAY_MS));
        while (run !== null && run.getTime() < untilAt) {
          theirs.push(run.getTime());
          run = job.nextRun(run);
        }
        expect(walkFrom(parseSchedule(text, change.name), change.at - DAY_MS, untilAt)).toEqual(theirs);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });
});
