import type { LogLine } from "../../core/body.ts";

/**
 * A log reads well as it is: `2026-05-09T00:00:00.123Z INFO  text`. A text of several lines says how many follow
 * (`ERROR+2`), and these are indented: so it is plain where each entry ends, even in the middle of a write.
 */
const HEAD = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (DEBUG|INFO|WARN|ERROR)(?:\+(\d{1,9}))? {1,2}/;
const INDENT = "    ";
const SPACE = 0x20;
const LINE_END = 0x0a;

/** One entry must not fill memory; more text is cut, and says so. */
const LINE_LIMIT = 8 * 1024 * 1024;

export function formatLine({ at, level, text }: LogLine): string {
  const whole = text.length > LINE_LIMIT ? cut(text) : text;
  const [first, ...more] = whole.split("\n");
  const count = more.length === 0 ? "" : `+${more.length}`;
  const head = `${new Date(at).toISOString()} ${`${level.toUpperCase()}${count}`.padEnd(5)} ${first}\n`;
  return more.length === 0 ? head : `${head}${more.map((line) => `${INDENT}${line}\n`).join("")}`;
}

const cut = (text: string): string =>
  `${text.slice(0, LINE_LIMIT)}… (${text.length - LINE_LIMIT} more characters)`;

/** How many bytes of `bytes` are whole entries; `final`: nothing will follow, so all of it is. */
export function wholeEntries(bytes: Buffer, final: boolean): number {
  if (final) return bytes.length;
  let end = 0;
  let at = 0;
  let missing = 0;
  for (;;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd === -1) return end;
    if (missing > 0 && bytes[at] === SPACE) missing -= 1;
    // A new entry ends one that was left unfinished (its writer died).
    else {
      if (missing > 0) end = at;
      missing = Number(HEAD.exec(bytes.toString("latin1", at, Math.min(lineEnd, at + 48)))?.[3] ?? 0);
    }
    at = lineEnd + 1;
    if (missing === 0) end = at;
  }
}

/** Entries of a piece of a log. What is not in our format is kept as text, with the time before it. */
export function parseLines(bytes: Buffer): LogLine[] {
  const lines: { at: number; level: LogLine["level"]; text: string }[] = [];
  let missing = 0;
  const texts = bytes.toString("utf8").split("\n");
  if (texts.at(-1) === "") texts.pop();
  for (const text of texts) {
    const last = lines.at(-1);
    if (missing > 0 && last !== undefined && text.startsWith(INDENT)) {
      missing -= 1;
      last.text += `\n${text.slice(INDENT.length)}`;
      continue;
    }
    const head = HEAD.exec(text);
    missing = Number(head?.[3] ?? 0);
    lines.push(
      head === null
        ? { at: last?.at ?? 0, level: "info", text }
        : { at: Date.parse(head[1]!), level: levelOf(head[2]!), text: text.slice(headLength(head)) },
    );
  }
  return lines;
}

const levelOf = (word: string): LogLine["level"] => word.toLowerCase() as LogLine["level"];

/** The level is padded to five characters, so that a second space belongs to the head only after a shorter one. */
function headLength(head: RegExpExecArray): number {
  const word = head[2]!.length + (head[3] === undefined ? 0 : head[3].length + 1);
  return head[1]!.length + 1 + Math.max(word, 5) + 1;
}
