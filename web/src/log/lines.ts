/**
 * A try's log text as lines. Pure. An entry is `2026-05-09T00:00:00.123Z INFO  text`; one of several lines says how many
 * follow (`ERROR+2`), and those are indented by four. Anything else is text alone.
 */

const LEVELS = ["debug", "info", "warn", "error"] as const;

export interface Line {
  readonly at: number | null;
  readonly level: (typeof LEVELS)[number];
  /** May hold line breaks. */
  readonly text: string;
}

const HEAD = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (DEBUG|INFO|WARN|ERROR)(?:\+(\d{1,9}))?/;
const INDENT = "    ";
/** The level is padded to this width, then one space parts it from the text. */
const LEVEL_WIDTH = 5;
// oxlint-disable-next-line no-control-regex -- colours of terminals start with the escape character
const TERMINAL = /\u001B\[[0-9;]*[A-Za-z]/g;

/** A text that is still growing may end within an entry: what is there of it is a line too. */
export function parseLog(text: string): Line[] {
  const lines: { at: number | null; level: Line["level"]; text: string }[] = [];
  let missing = 0;
  const raw = text.replaceAll(TERMINAL, "").split("\n");
  if (raw.at(-1) === "") raw.pop();
  for (const one of raw) {
    const last = lines.at(-1);
    if (missing > 0 && last !== undefined && one.startsWith(INDENT)) {
      missing -= 1;
      last.text += `\n${one.slice(INDENT.length)}`;
      continue;
    }
    const head = HEAD.exec(one);
    missing = Number(head?.[3] ?? 0);
    lines.push(head === null ? { at: null, level: last?.level ?? "info", text: one } : entryOf(head, one));
  }
  return lines;
}

function entryOf(head: RegExpExecArray, raw: string): Line {
  const [whole, at = "", word = ""] = head;
  const level = LEVELS.find((one) => one === word.toLowerCase()) ?? "info";
  const start = at.length + 1 + Math.max(whole.length - at.length - 1, LEVEL_WIDTH) + 1;
  return { at: Date.parse(at), level, text: raw.slice(start) };
}
