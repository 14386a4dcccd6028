/** Sizes the virtual grid reckons with; `grid.css` takes them as custom properties. */
import type { Span } from "../routing/route.ts";

export const ROW_PX = 26;
/** Heading, tick, bars, and the run's own mark. */
export const HEAD_PX = 108;
export const BAR_PX = 44;

/** A month with room to breathe, a quarter at a glance, a year as a band. */
export const COLUMN_PX: Record<Span, number> = { 31: 22, 92: 15, 366: 12 };

/** Width of the column of names: as wide as the longest needs, within reason. About 7.2 px a letter. */
export function namesPx(ids: readonly string[]): number {
  const longest = ids.reduce((most, id) => Math.max(most, id.length), 0);
  return Math.min(260, Math.max(128, Math.ceil(longest * 7.2) + 28));
}
