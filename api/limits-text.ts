import { isNode, LineCounter, parseDocument, type Document } from "yaml";
import { Refused } from "../core/errors.ts";
import type { LimitsFile } from "../core/limits-file.ts";
import { pathText, type Path } from "../core/limits-reader.ts";
import { readLimits } from "../core/read-limits.ts";
import { isStorable } from "../db/json.ts";

interface Found {
  readonly line: number | null;
  /** Where in the file: `tenants.sales.slots`. Empty for the file as a whole. */
  readonly at: string;
  readonly message: string;
}

/** A limits file from its text, YAML or JSON. Throws Refused `bad_limits` with all mistakes (details.mistakes). */
export function parseLimits(text: string): LimitsFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw wrong(
      document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, at: "", message })),
    );
  }
  const value = valueOf(document);
  if (value === null || value === undefined) {
    const message = "it is empty; write {} for no limits at all";
    throw wrong([{ line: null, at: "", message }]);
  }
  const read = readLimits(value);
  if (read.kind === "wrong") {
    throw wrong(
      read.mistakes.map(({ path, message }) => ({
        line: lineOf(document, lines, path),
        at: pathText(path),
        message,
      })),
    );
  }
  if (!isStorable(read.file)) {
    throw wrong([{ line: null, at: "", message: "it holds characters that cannot be stored" }]);
  }
  return read.file;
}

function valueOf(document: Document): unknown {
  try {
    // Aliases of aliases can make a small text huge.
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw wrong([{ line: null, at: "", message: (error as Error).message }]);
  }
}

/** The line of what a path leads to, or of the nearest around it that is there. */
function lineOf(document: Document, lines: LineCounter, path: Path): number | null {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return null;
}

function wrong(mistakes: readonly Found[]): Refused {
  const list = mistakes.map(({ line, at, message }) => {
    const where = [line === null ? "" : `line ${line}`, at].filter((part) => part !== "").join(", ");
    return where === "" ? message : `${where}: ${message}`;
  });
  const count = list.length === 1 ? "a mistake" : `${list.length} mistakes`;
  return new Refused("bad_limits", `the limits file has ${count}:\n  ${list.join("\n  ")}`, {
    details: { mistakes },
  });
}
