/** Which lines of a log are shown, and where in them the searched text stands. Pure. */
import { LOG_LEVELS, type LogLevel } from "../routing/route.ts";
import type { Line } from "./lines.ts";

/** Places in `lines`, from 0: of this level and above, and with the text in them. */
export function pickLines(lines: readonly Line[], level: LogLevel, find: string): readonly number[] | null {
  if (level === "debug" && find === "") return null;
  const wanted = find.toLowerCase();
  const least = LOG_LEVELS.indexOf(level);
  const picked: number[] = [];
  for (const [at, line] of lines.entries()) {
    if (LOG_LEVELS.indexOf(line.level) >= least && line.text.toLowerCase().includes(wanted)) picked.push(at);
  }
  return picked;
}

export interface Part {
  readonly text: string;
  readonly found: boolean;
}

/** The text in parts, so that what was searched for can be shown in it. */
export function partsOf(text: string, find: string): readonly Part[] {
  const wanted = find.toLowerCase();
  const lower = text.toLowerCase();
  // Some letters change their length in lower case, and would move the places.
  if (wanted === "" || lower.length !== text.length) return [{ text, found: false }];
  const parts: Part[] = [];
  let from = 0;
  for (;;) {
    const at = lower.indexOf(wanted, from);
    if (at < 0) break;
    if (at > from) parts.push({ text: text.slice(from, at), found: false });
    parts.push({ text: text.slice(at, at + wanted.length), found: true });
    from = at + wanted.length;
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), found: false });
  return parts;
}
