/** Text for a terminal: aligned, in colour where a person looks, and never obeyed by the terminal. */
import type { RunState, TaskState, TryState } from "../core/states.ts";

/** Colours only where a person looks, who has not said no (https://no-color.org). */
const hasColour = (): boolean =>
  process.stdout.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";

const CODES = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, grey: 90, bold: 1 } as const;
export type Colour = keyof typeof CODES;

export const coloured = (text: string, colour: Colour | undefined): string =>
  colour === undefined || text === "" || !hasColour() ? text : `\u001B[${CODES[colour]}m${text}\u001B[0m`;

const STATE_COLOURS = {
  none: undefined,
  queued: "grey",
  running: "cyan",
  deferred: "magenta",
  up_for_retry: "yellow",
  success: "green",
  failed: "red",
  upstream_failed: "yellow",
  skipped: "magenta",
  cancelled: "yellow",
  removed: "grey",
  timed_out: "red",
  lost: "yellow",
  requeued: "yellow",
} as const satisfies Record<RunState | TaskState | TryState, Colour | undefined>;

export const colourOf = (state: string): Colour | undefined =>
  (STATE_COLOURS as Readonly<Record<string, Colour | undefined>>)[state];

/** A value in one line. What a terminal would obey (escapes, line breaks) is written out. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.length === 0 ? "-" : clean(value.join(", "));
  return clean(typeof value === "string" ? shortInstant(value) : JSON.stringify(value));
}

/** Milliseconds say something only where they are not zero or the eye compares them; JSON has them. */
const shortInstant = (text: string): string =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/.test(text) ? text.replace(/\.\d+Z$/, "Z") : text;

/** Seconds from a start to an end; null while it goes on. */
export function secondsOf(it: { startedAt: string | null; endedAt: string | null }): string | null {
  if (it.startedAt === null || it.endedAt === null) return null;
  return ((Date.parse(it.endedAt) - Date.parse(it.startedAt)) / 1000).toFixed(1);
}

/** Control characters as `\n`, `\u001b`. */
export const clean = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    char === "\u200D" ? char : (NAMED[char] ?? `\\u${char.codePointAt(0)!.toString(16).padStart(4, "0")}`),
  );
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Text of several lines from elsewhere, such as a stack: its lines and tabs are kept. */
export const cleanLines = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.split("\t").map(clean).join("\t"))
    .join("\n");

const graphemes = new Intl.Segmenter();
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}])/u;

/** Cells of a terminal that a text takes. */
function widthOf(text: string): number {
  if (/^[\u0020-\u007E]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

export const padded = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

export interface TableCell {
  readonly text: string;
  readonly colour?: Colour | undefined;
}

/** Columns side by side, as wide as their widest text; the last one as long as it is. */
export function tableLines(head: readonly string[], rows: readonly (readonly TableCell[])[]): string[] {
  const widths = head.map((name, i) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[i]!.text)), name.length),
  );
  const line = (cells: readonly TableCell[]): string =>
    cells
      .map(({ text, colour }, i) => {
        const gap = i === cells.length - 1 ? "" : " ".repeat(widths[i]! - widthOf(text));
        return coloured(text, colour) + gap;
      })
      .join("  ")
      .trimEnd();
  return [line(head.map((text) => ({ text, colour: "bold" }))), ...rows.map(line)];
}
