/** Sizes the virtual grid reckons with; `grid.css` takes them as custom properties. */
import type { Span } from "../routing/route.ts";
import type { GridRow } from "./rows.ts";

export const ROW_PX = 26;
/** Heading, tick, kind, bars, and the run's own mark. */
export const HEAD_PX = 118;
export const BAR_PX = 44;
/** A group's content is set in by this much; in `grid.css` too. */
const INDENT_PX = 14;
/** The sign before a group's name. */
const SIGN_PX = 16;

/** A month with room to breathe, a quarter at a glance, a year as a band. */
export const COLUMN_PX: Record<Span, number> = { 31: 22, 92: 15, 366: 12 };

/** Width of the column of names: as wide as the longest needs, within reason. About 7.2 px a letter. */
export function namesPx(rows: readonly GridRow[]): number {
  const longest = rows.reduce((most, row) => {
    const width = row.label.length * 7.2 + row.depth * INDENT_PX + (row.kind === "group" ? SIGN_PX : 0);
    return Math.max(most, width);
  }, 0);
  return Math.min(260, Math.max(128, Math.ceil(longest) + 28));
}
