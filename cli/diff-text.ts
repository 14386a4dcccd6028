import type { FieldChange, VersionDiff } from "../api/contracts.ts";
import { clean, cleanLines, type Colour, coloured, textOf } from "./table.ts";

type Hunk = VersionDiff["sources"][number]["hunks"][number];

const SIGN = { added: "+", removed: "-", changed: "~" } as const;
const COLOUR = { added: "green", removed: "red", changed: "yellow" } as const;

/** What changed between two versions; of the sources a unified diff, which `patch -p0` applies in the DAG folder. */
export function diffLines(diff: VersionDiff): string[] {
  const name = ({ number, createdAt, sourcesAt, current }: VersionDiff["from"]): string => {
    const remarks = sourcesAt > createdAt ? `, with the remarks of ${textOf(sourcesAt)}` : "";
    return `version ${number} of ${textOf(createdAt)}${remarks}${current ? ", in force" : ""}`;
  };
  const lines = [`from ${name(diff.from)}`, `to   ${name(diff.to)}`];
  const thing = (what: string, change: keyof typeof SIGN, fields: readonly FieldChange[]): void => {
    lines.push(coloured(`${SIGN[change]} ${what}`, COLOUR[change]));
    if (change === "changed") lines.push(...fields.map(fieldLine));
  };
  if (diff.dag.length > 0) thing("DAG", "changed", diff.dag);
  for (const { id, change, fields } of diff.groups) thing(`group ${clean(id)}`, change, fields);
  for (const { id, change, fields } of diff.tasks) thing(`task ${clean(id)}`, change, fields);
  for (const { from, to, change, fields } of diff.edges)
    thing(`edge ${clean(from)} → ${clean(to)}`, change, fields);
  for (const { path, change, hunks } of diff.sources) {
    lines.push("", coloured(`--- ${change === "added" ? "/dev/null" : clean(path)}`, "bold"));
    lines.push(coloured(`+++ ${change === "removed" ? "/dev/null" : clean(path)}`, "bold"));
    for (const hunk of hunks) {
      lines.push(coloured(hunkHead(hunk), "cyan"));
      for (const line of hunk.lines) lines.push(coloured(cleanLines(line), colourOfLine(line)));
    }
  }
  if (lines.length === 2) lines.push("nothing that runs differs");
  return lines;
}

/** `@@ -82,7 +82,7 @@`; of nothing, the line before it is named. */
function hunkHead({ beforeStart, afterStart, lines }: Hunk): string {
  const side = (start: number, other: "+" | "-"): string => {
    const count = lines.filter((line) => !line.startsWith(other)).length;
    return `${count === 0 ? start - 1 : start},${count}`;
  };
  return `@@ -${side(beforeStart, "+")} +${side(afterStart, "-")} @@`;
}

const fieldLine = ({ field, before, after }: FieldChange): string =>
  `    ${field}: ${before === undefined ? "(none)" : JSON.stringify(before)} → ${after === undefined ? "(none)" : JSON.stringify(after)}`;

const colourOfLine = (line: string): Colour | undefined =>
  line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined;
