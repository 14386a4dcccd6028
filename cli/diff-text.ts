import type { FieldChange, VersionDiff } from "../api/contracts.ts";
import { clean, type Colour, coloured, textOf } from "./table.ts";

const SIGN = { added: "+", removed: "-", changed: "~" } as const;
const COLOUR = { added: "green", removed: "red", changed: "yellow" } as const;

/** What changed between two versions, as a unified diff is read. */
export function diffLines(diff: VersionDiff): string[] {
  const name = ({ number, createdAt }: VersionDiff["from"]): string =>
    `version ${number} of ${textOf(createdAt)}`;
  const lines = [`--- ${name(diff.from)}`, `+++ ${name(diff.to)}`];
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
    lines.push("", coloured(`${SIGN[change]} ${clean(path)}`, "bold"));
    for (const { beforeStart, afterStart, lines: text } of hunks) {
      lines.push(coloured(`@@ -${beforeStart} +${afterStart} @@`, "cyan"));
      for (const line of text) lines.push(coloured(clean(line.replaceAll("\t", "  ")), colourOfLine(line)));
    }
  }
  if (lines.length === 2) lines.push("nothing that runs differs");
  return lines;
}

const fieldLine = ({ field, before, after }: FieldChange): string =>
  `    ${field}: ${before === undefined ? "(none)" : JSON.stringify(before)} → ${after === undefined ? "(none)" : JSON.stringify(after)}`;

const colourOfLine = (line: string): Colour | undefined =>
  line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined;
