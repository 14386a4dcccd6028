/** What stands over the columns: a short tick for each run and a heading for each stretch of them. Pure. */
import type { GridRun } from "../../../api/contracts.ts";
import { wallClock, type WallClock } from "../time/format.ts";

export interface Tick {
  /**
   * At most three characters: a day, an hour or a minute. After a run of the same day or hour the hour `14h` or the
   * minute `:05`, and `:32` where several runs share a minute.
   */
  readonly text: string;
  /** The run's logical date, as precise as it must be to name one run. */
  readonly label: string;
}

export interface Heading {
  readonly from: number;
  /** Columns it spans. */
  readonly span: number;
  readonly text: string;
  /** For where `text` has no room. */
  readonly short: string;
}

export interface Ticks {
  readonly ticks: readonly Tick[];
  readonly headings: readonly Heading[];
}

type Grain = "day" | "hour" | "minute";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number): string => String(n).padStart(2, "0");
const day = (wall: WallClock): string => `${wall.year}-${two(wall.month)}-${two(wall.day)}`;
const clock = (wall: WallClock): string => `${two(wall.hour)}:${two(wall.minute)}`;

/** The grain follows the median distance of runs, so that one run by hand does not change it. */
function grainOf(dates: readonly number[]): Grain {
  const gaps = dates.slice(1).map((at, index) => at - dates[index]!);
  const median = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 86_400_000;
  if (median >= 20 * 3_600_000) return "day";
  return median >= 50 * 60_000 ? "hour" : "minute";
}

/** Clocks of dates, kept because thousands of columns come a page at a time and reading a zone's clock is slow. */
const clocks = new Map<string, Map<number, WallClock>>();

function clockAt(at: number, zone: string): WallClock {
  let known = clocks.get(zone);
  if (known === undefined) clocks.set(zone, (known = new Map()));
  let wall = known.get(at);
  if (wall === undefined) {
    if (known.size > 50_000) known.clear();
    known.set(at, (wall = wallClock(at, zone)));
  }
  return wall;
}

export function ticksOf(runs: readonly GridRun[], zone: string): Ticks {
  const dates = runs.map((run) => Date.parse(run.logicalDate));
  const grain = grainOf(dates);
  const ticks: Tick[] = [];
  const headings: { from: number; span: number; text: string; short: string }[] = [];
  for (const [column, at] of dates.entries()) {
    const wall = clockAt(at, zone);
    ticks.push(tickOf(dates, column, wall, column === 0 ? null : clockAt(dates[column - 1]!, zone), grain));
    const heading = headingOf(wall, grain);
    const last = headings.at(-1);
    if (last?.text === heading.text) last.span += 1;
    else headings.push({ from: column, span: 1, ...heading });
  }
  return { ticks, headings };
}

/** Dates are sorted, so runs of one minute or second stand side by side. */
function tickOf(
  dates: readonly number[],
  column: number,
  wall: WallClock,
  before: WallClock | null,
  grain: Grain,
): Tick {
  const at = dates[column]!;
  const shares = (unit: number): boolean =>
    [dates[column - 1], dates[column + 1]].some(
      (other) => other !== undefined && Math.floor(other / unit) === Math.floor(at / unit),
    );
  const label = `${day(wall)} ${clock(wall)}`;
  if (!shares(60_000)) {
    return { text: textOf(wall, before, grain), label };
  }
  const seconds = two(wall.second);
  const ms = shares(1000) ? `.${String(((at % 1000) + 1000) % 1000).padStart(3, "0")}` : "";
  return { text: `:${seconds}`, label: `${label}:${seconds}${ms}` };
}

/** The run before it may have the same day or hour: then what differs. */
function textOf(wall: WallClock, before: WallClock | null, grain: Grain): string {
  if (grain === "minute") return two(wall.minute);
  const sameDay = before !== null && day(before) === day(wall);
  if (sameDay && before.hour === wall.hour) return `:${two(wall.minute)}`;
  if (grain === "hour") return two(wall.hour);
  return sameDay ? `${two(wall.hour)}h` : two(wall.day);
}

function headingOf(wall: WallClock, grain: Grain): { text: string; short: string } {
  const month = MONTHS[wall.month - 1]!;
  if (grain === "day") return { text: `${month} ${wall.year}`, short: month };
  if (grain === "hour") return { text: day(wall), short: `${wall.day} ${month}` };
  return { text: `${day(wall)} ${two(wall.hour)}h`, short: `${two(wall.hour)}h` };
}
