/** TypeScript as lines of coloured pieces. A parser, not a set of patterns: it copes with halves of a file too. Pure. */
import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser } from "@lezer/javascript";

interface Piece {
  readonly text: string;
  /** Classes such as `tok-keyword`; empty: plain. */
  readonly tone: string;
}

export type Line = readonly Piece[];

const PARSERS: Readonly<Record<string, typeof parser>> = {
  ts: parser.configure({ dialect: "ts" }),
  mts: parser.configure({ dialect: "ts" }),
  cts: parser.configure({ dialect: "ts" }),
  tsx: parser.configure({ dialect: "ts jsx" }),
  js: parser,
  mjs: parser,
  cjs: parser,
  jsx: parser.configure({ dialect: "jsx" }),
};
/** Beyond this, colours would cost the page more than they give. */
const MOST = 1_000_000;

/** Files in other languages are plain lines. */
export function highlight(text: string, path: string): Line[] {
  const language = PARSERS[path.slice(path.lastIndexOf(".") + 1)];
  if (language === undefined || text.length > MOST)
    return text.split("\n").map((line) => (line === "" ? [] : [{ text: line, tone: "" }]));
  const lines: Piece[][] = [[]];
  highlightCode(
    text,
    language.parse(text),
    classHighlighter,
    (piece, tone) => lines.at(-1)!.push({ text: piece, tone }),
    () => lines.push([]),
  );
  return lines;
}

/** The lines of a hunk of a diff, each with its sign; both sides are read by themselves. */
export function highlightHunk(hunk: readonly string[], path: string): Line[] {
  const side = (sign: string): Line[] =>
    highlight(
      hunk
        .filter((line) => !line.startsWith(sign))
        .map((line) => line.slice(1))
        .join("\n"),
      path,
    );
  const [before, after] = [side("+"), side("-")];
  let [atBefore, atAfter] = [0, 0];
  return hunk.map((line) => {
    if (line.startsWith("-")) return before[atBefore++] ?? [];
    if (!line.startsWith("+")) atBefore += 1;
    return after[atAfter++] ?? [];
  });
}
