/** What stands over the columns: a short tick for each run and a heading for each stretch of them. Pure. */
import type { GridRun } from "../../../api/contracts.ts";
import { formatClock, formatDay, wallClock } from "../time/format.ts";

export interface Tick {
  /** At most two or three characters: a day, an hour, a minute. */
  readonly text: string;
  readonly label: string;
}

export interface Heading {
  readonly from: number;
  /** Columns it spans. */
  readonly span: number;
  readonly text: string;
}

export interface Ticks {
  readonly ticks: readonly Tick[];
  readonly headings: readonly Heading[];
}

type Grain = "day" | "hour" | "minute";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The grain follows the median distance of runs, so that one run by hand does not change it. */
function grainOf(dates: readonly number[]): Grain {
  const gaps = dates.slice(1).map((at, index) => at - dates[index]!);
  const median = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 86_400_000;
  if (median >= 20 * 3_600_000) return "day";
  return median >= 50 * 60_000 ? "hour" : "minute";
}

export function ticksOf(runs: readonly GridRun[], zone: string): Ticks {
  const dates = runs.map((run) => Date.parse(run.logicalDate));
  const grain = grainOf(dates);
  const ticks: Tick[] = [];
  const headings: { from: number; span: number; text: string }[] = [];
  for (const [column, at] of dates.entries()) {
    const wall = wallClock(at, zone);
    const number = grain === "day" ? wall.day : grain === "hour" ? wall.hour : wall.minute;
    ticks.push({
      text: String(number).padStart(2, "0"),
      label: `${formatDay(at, zone)} ${formatClock(at, zone)}`,
    });
    const text = headingOf(at, wall.month, wall.year, grain, zone);
    const last = headings.at(-1);
    if (last?.text === text) last.span += 1;
    else headings.push({ from: column, span: 1, text });
  }
  return { ticks, headings };
}

function headingOf(at: number, month: number, year: number, grain: Grain, zone: string): string {
  if (grain === "day") return `${MONTHS[month - 1]} ${year}`;
  return grain === "hour"
    ? formatDay(at, zone)
    : `${formatDay(at, zone)} ${formatClock(at, zone).slice(0, 2)}h`;
}
