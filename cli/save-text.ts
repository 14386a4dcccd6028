/** What a save of a DAG file did, for whoever saved it. */
import { readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { diffGraphs, type FieldChange, type NamedChange } from "../core/version-diff.ts";
import type { Db } from "../db/connection.ts";
import { readInForce, readVersionSources, type VersionSourceRow } from "../db/read/versions.ts";
import { isShared } from "../processor/claims.ts";
import { placeOf } from "../processor/source-error.ts";
import type { FileError } from "../processor/types.ts";

/** A save longer ago is not what made this version. */
const SAVED_WITHIN_MS = 60_000;
const LINE_CHARS = 160;
/** More files than these are counted. */
const NAMED = 3;

/** From the version that was in force to the one that is: a file may go back to what it was. */
export async function versionText(db: Db, folder: string, dagId: string): Promise<string> {
  const inForce = await readInForce(db, dagId);
  if (inForce === null) return `${dagId} has no version yet`;
  const { number, number_before, is_fresh } = inForce;
  if (!is_fresh) return `${dagId} is back, with version ${number}`;
  const numbers = number_before === null ? [number] : [number, number_before];
  const rows = await readVersionSources(db, dagId, numbers);
  const after = rows.find((row) => row.number === number)!;
  const before = rows.find((row) => row.number === number_before);
  const ago = savedAgo(join(folder, after.file));
  if (before === undefined)
    return `${dagId}  version ${number}${ago}: new, ${counted(after.graph.tasks.length, "task")}`;
  return `${dagId}  version ${number_before} → ${number}${ago}: ${cut(whatChanged(before, after))}`;
}

/** A save of a shared module is one of each DAG file that imports it. */
export function sameText(folder: string, paths: readonly string[]): string {
  const names = paths.slice(0, NAMED).map((path) => named(folder, path));
  const more = paths.length > NAMED ? ` and ${paths.length - NAMED} more` : "";
  return `${names.join(", ")}${more}: saved, no change in what is run`;
}

export const goneText = (dagIds: readonly string[]): string =>
  `${dagIds.join(", ")}: no file defines ${dagIds.length === 1 ? "it" : "them"} any more`;

function savedAgo(file: string): string {
  const savedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const ms = savedAt === undefined ? Number.POSITIVE_INFINITY : Date.now() - savedAt;
  return ms < SAVED_WITHIN_MS ? `, ${(ms / 1000).toFixed(1)} s after the save` : "";
}

function whatChanged(before: VersionSourceRow, after: VersionSourceRow): string {
  const { dag, groups, tasks, edges } = diffGraphs(before.graph, after.graph);
  const parts = [
    ...dag.map(fieldText),
    ...tasks.map((change) => partText("task", change)),
    ...groups.map((change) => partText("group", change)),
    ...(edges.length === 0 ? [] : [counted(edges.length, "edge")]),
    ...(before.bundle_hash === after.bundle_hash ? [] : ["code"]),
  ];
  return parts.length === 0 ? "nothing that is run" : parts.join("; ");
}

function partText(what: string, { id, change, fields }: NamedChange): string {
  return change === "changed"
    ? `${what} ${id}: ${fields.map(fieldText).join(", ")}`
    : `${what} ${id} ${change}`;
}

const fieldText = ({ field, before, after }: FieldChange): string =>
  `${field} ${shown(before)} → ${shown(after)}`;

function shown(value: unknown): string {
  const text = value === undefined ? "none" : JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

const cut = (text: string): string => (text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text);

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** As one would type it here. */
export function named(folder: string, path: string): string {
  const file = join(folder, path);
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}

/** Where, what, the lines around it, and what is in force meanwhile. */
export function errorText(folder: string, path: string, error: FileError, hasVersion: boolean): string {
  const { file = path, line, column } = error;
  const place = placeOf(path, { ...error, file: named(folder, file) });
  const of = file === path ? "" : ` (used by ${named(folder, path)})`;
  const frame = line === undefined ? "" : codeFrame(join(folder, file), line, column);
  return `${place}${of}  ${error.message}${frame}${meanwhile(error, hasVersion)}`;
}

/** An id that is another file's too says so itself. */
function meanwhile(error: FileError, hasVersion: boolean): string {
  if (isShared(error)) return "";
  const now = hasVersion ? "the last good version stays in force" : "it defines no DAG until that is mended";
  return `\n          ${now}`;
}

function codeFrame(file: string, line: number, column: number | undefined): string {
  let lines: string[];
  try {
    lines = readFileSync(file, "utf8").split("\n");
  } catch {
    return "";
  }
  const first = Math.max(1, line - 2);
  const width = String(line + 2).length;
  const shownLines = lines.slice(first - 1, line + 2).flatMap((text, index) => {
    const number = first + index;
    const row = `${number === line ? ">" : " "} ${String(number).padStart(width)} | ${text}`;
    if (number !== line || column === undefined) return [row];
    return [row, `  ${" ".repeat(width)} | ${" ".repeat(Math.max(0, column - 1))}^`];
  });
  return `\n${shownLines.map((text) => `          ${text}`).join("\n")}`;
}
