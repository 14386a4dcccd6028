/** A try's log text as lines. Pure. A line is `instant level text`, or JSON `{at, level, text}`; anything else is text alone. */

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

export interface Line {
  readonly at: number | null;
  readonly level: Level;
  readonly text: string;
}

const PLAIN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?)\s+\[?(debug|info|warn|error)\]?:?\s+(.*)$/is;
// oxlint-disable-next-line no-control-regex -- colours of terminals start with the escape character
const TERMINAL = /\u001B\[[0-9;]*[A-Za-z]/g;

function levelOf(text: unknown): Level {
  const low = typeof text === "string" ? text.toLowerCase() : "";
  return LEVELS.find((level) => level === low) ?? "info";
}

function parseLine(raw: string): Line {
  const line = raw.replaceAll(TERMINAL, "");
  if (line.startsWith("{")) {
    try {
      const value = JSON.parse(line) as { at?: unknown; level?: unknown; text?: unknown };
      if (typeof value.text === "string") {
        return {
          at: typeof value.at === "number" ? value.at : null,
          level: levelOf(value.level),
          text: value.text,
        };
      }
    } catch {
      // The body printed something that only looks like JSON.
    }
  }
  const m = PLAIN.exec(line);
  if (m === null) return { at: null, level: "info", text: line };
  const at = Date.parse(m[1]!);
  return { at: Number.isNaN(at) ? null : at, level: levelOf(m[2]), text: m[3]! };
}

/** Lines of a text that may still be growing: what follows the last line break is a line too, once there is any. */
export function parseLog(text: string): Line[] {
  const raw = text.split("\n");
  if (raw.at(-1) === "") raw.pop();
  let level: Level = "info";
  return raw.map((one) => {
    const line = parseLine(one);
    // A line without a stamp goes on from the one before: the rest of a stack is as red as its start.
    if (line.at === null) return { ...line, level };
    level = line.level;
    return line;
  });
}
