import { posix } from "node:path";

/** What the text of a module says of DAGs and of other modules of its folder. Modules go by their `stemOf`. */
export interface ModuleText {
  /** It calls something that ends in `dag(`, or imports "meridian". */
  readonly own: boolean;
  /** It passes on what "meridian" exports. */
  readonly passesOn: boolean;
  /** Modules of which it takes something by name. */
  readonly uses: readonly string[];
  /** Modules it only loads, or whose exports it only passes on. */
  readonly loads: readonly string[];
  /** Modules of which it takes types alone: these imports are gone when it runs. */
  readonly types: readonly string[];
}

const ENDING = /\.[cm]?[jt]sx?$/;

/** One name for `lib/make.ts`, as an import may write it: `lib/make`, `lib/make.js`; `lib` is also `lib/index.ts`. */
export const stemOf = (path: string): string =>
  path
    .replace(ENDING, "")
    .replace(/(?:^|\/)index$/, "")
    .replace(/^\.?\/?$/, "");

const DEFINES = /dag\s*[(<]/i;
/** `from "x"`, `import "x"`, `import("x")`, `require("x")`. */
const NAMED = /\b(?:from|import|require)\s*(\(?)\s*["'`]([^"'`\n]+)["'`]/g;
const KEYWORD = /\b(?:import|export)\b/g;
/** `import type { A }`, but not a default import that is called `type`. */
const OF_TYPES = /^(?:import|export)\s+type\b(?!\s*(?:,|$))/;
/** A longer list of imported names is not looked through for its beginning. */
const LONGEST_CLAUSE = 4_000;

/** Reads it by patterns, not by a parser: what is taken for an import too many costs no more than a look. */
export function importsOf(path: string, text: string): ModuleText {
  const found = { own: DEFINES.test(text), passesOn: false, uses: [], loads: [], types: [] } as {
    own: boolean;
    passesOn: boolean;
  } & Record<Kind, string[]>;
  for (const match of text.matchAll(NAMED)) {
    const [whole, bracket, name] = match;
    const kind = bracket === "(" ? "uses" : whole.startsWith("from") ? kindOf(text, match.index) : "loads";
    if (name === "meridian") {
      if (kind === "uses") found.own = true;
      if (kind === "loads") found.passesOn = true;
    } else if (name!.startsWith(".")) {
      const target = posix.join(posix.dirname(path), name!).replace(/\/$/, "");
      if (!target.startsWith("../")) found[kind].push(stemOf(target));
    }
  }
  return found;
}

type Kind = "uses" | "loads" | "types";

/** Of the `from` at this place, by the word its statement begins with. */
function kindOf(text: string, at: number): Kind {
  const before = text.slice(Math.max(0, at - LONGEST_CLAUSE), at);
  let start = -1;
  for (const { index } of before.matchAll(KEYWORD)) start = index;
  if (start === -1) return "uses";
  const statement = before.slice(start);
  if (OF_TYPES.test(statement)) return "types";
  return statement.startsWith("export") ? "loads" : "uses";
}
