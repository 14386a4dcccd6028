/** The time axis of a run: round times on the clocks of a zone. Pure. */
import { formatClock, formatDay, wallClock } from "../time/format.ts";

export interface AxisTick {
  readonly at: number;
  readonly text: string;
}

const S = 1000;
const MIN = 60 * S;
const H = 60 * MIN;
const DAY = 24 * H;
const STEPS: readonly number[] = [
  ...[1, 10, 100].flatMap((n) => [n, 2 * n, 5 * n]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * S),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MIN),
  ...[1, 2, 3, 6, 12].map((n) => n * H),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];

/** Wall time as if it were UTC, less the instant. */
function offsetAt(at: number, zone: string): number {
  const { year, month, day, hour, minute, second } = wallClock(at, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / S) * S;
}

/** At most `most` ticks between two instants. */
export function axisOf(from: number, to: number, zone: string, most: number): AxisTick[] {
  const span = Math.max(1, to - from);
  const step = STEPS.find((one) => span / one <= most) ?? STEPS.at(-1)!;
  const ticks: AxisTick[] = [];
  const start = offsetAt(from, zone);
  let lastDay = "";
  for (let wall = Math.ceil((from + start) / step) * step; ; wall += step) {
    // The zone may change its offset on the way: the tick is where the clocks show the round time.
    const at = wall - offsetAt(wall - start, zone);
    if (at > to) return ticks;
    if (at < from || at <= (ticks.at(-1)?.at ?? -Infinity)) continue;
    const day = formatDay(at, zone);
    ticks.push({ at, text: textOf(at, zone, step, day !== lastDay && lastDay !== "") });
    lastDay = day;
  }
}

function textOf(at: number, zone: string, step: number, newDay: boolean): string {
  if (step >= DAY) return formatDay(at, zone);
  if (step < S) return `${formatClock(at, zone, true)}.${String(((at % S) + S) % S).padStart(3, "0")}`;
  const clock = formatClock(at, zone, step < MIN);
  return newDay ? `${formatDay(at, zone).slice(5)} ${clock}` : clock;
}
