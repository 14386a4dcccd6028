import { readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { diffGraphs, type FieldChange, type NamedChange } from "../core/version-diff.ts";
import type { Db } from "../db/connection.ts";
import { readFilesByPath } from "../db/dags/read-files.ts";
import { readVersionPage, readVersionSources, type VersionSourceRow } from "../db/read/versions.ts";
import type { ProcessorOptions } from "../processor/processor.ts";
import type { FileError } from "../processor/types.ts";

/** Between two looks whether a broken file is mended. */
const MENDED_MS = 300;
/** A save longer ago is not what made this version. */
const SAVED_WITHIN_MS = 60_000;
const LINE_CHARS = 160;

type Log = ProcessorOptions["log"];

export interface DevVoice {
  /** For the processor, in place of the process log. */
  readonly log: Log;
  /** Versions that came into force. */
  readonly stored: (dagIds: readonly string[]) => void;
  /** The first pass is over: from here on each version is told. */
  readonly begin: () => void;
  readonly end: () => void;
}

/** A line for each save that came into force, or mended a file; errors go to the process log. */
export function createPlainVoice(log: Log, print: (text: string) => void): DevVoice {
  let begun = false;
  const say = (text: string): void => {
    if (begun) print(`${timeText()}  ${text}`);
  };
  return {
    log: {
      info: (fields, text) => {
        log.info(fields, text);
        if ("mended" in fields) say(text);
      },
      warn: (fields, text) => log.warn(fields, text),
      error: (fields, text) => log.error(fields, text),
    },
    stored: (dagIds) => say(`stored: ${dagIds.join(", ")}`),
    begin: () => {
      begun = true;
    },
    end: () => undefined,
  };
}

const timeText = (): string => new Date().toTimeString().slice(0, 8);

/** Tells whoever edits DAG files what each save did, a line for each; errors with the lines of the file. */
export function createDevVoice(db: Db, folder: string, log: Log, print: (text: string) => void): DevVoice {
  const broken = new Set<string>();
  let begun = false;
  let ended = false;
  let watching = false;
  const root = resolve(folder);
  const say = (text: string): void => print(`${timeText()}  ${text}`);
  const attempt = (action: () => Promise<void>): void =>
    void action().catch((error: unknown) => log.error({ err: error }, "what a save did could not be told"));

  const tellError = async (path: string): Promise<void> => {
    const [row] = await readFilesByPath(db, [path]);
    const error = row?.error as FileError | null | undefined;
    if (error === null || error === undefined) return;
    broken.add(path);
    say(errorText(root, path, error, row!.dag_ids.length > 0));
    if (!watching) attempt(watchBroken);
  };
  const watchBroken = async (): Promise<void> => {
    watching = true;
    try {
      while (broken.size > 0 && !ended) {
        await sleep(MENDED_MS, undefined, { ref: false });
        const rows = new Map((await readFilesByPath(db, [...broken])).map((row) => [row.path, row]));
        for (const path of broken) {
          const row = rows.get(path);
          if (row !== undefined && row.error !== null) continue;
          broken.delete(path);
          say(`${named(root, path)} ${row === undefined ? "is gone" : "is fine again"}`);
        }
      }
    } finally {
      watching = false;
    }
  };

  return {
    log: {
      info: (fields, text) => {
        log.info(fields, text);
        const { dags } = fields as { readonly dags?: readonly string[] };
        if (begun && dags !== undefined && text !== "DAGs stored") say(`${dags.join(", ")}: ${text}`);
      },
      warn: (fields, text) => {
        const { path } = fields as { readonly path?: string };
        if (path === undefined) log.warn(fields, text);
        else attempt(async () => await tellError(path));
      },
      error: (fields, text) => log.error(fields, text),
    },
    stored: (dagIds) => {
      if (!begun) return;
      for (const dagId of dagIds) attempt(async () => say(await versionText(db, root, dagId)));
    },
    begin: () => {
      begun = true;
    },
    end: () => {
      ended = true;
    },
  };
}

async function versionText(db: Db, folder: string, dagId: string): Promise<string> {
  const page = (await readVersionPage(db, dagId, { before: null, limit: 2 })) ?? [];
  const rows = await readVersionSources(
    db,
    dagId,
    page.map(({ number }) => number),
  );
  const [after, before] = rows.sort((a, b) => b.number - a.number);
  if (after === undefined) return `${dagId} is back`;
  const ago = savedAgo(join(folder, after.file));
  if (before === undefined)
    return `${dagId}  version ${after.number}${ago}: new, ${counted(after.graph.tasks.length, "task")}`;
  return `${dagId}  version ${before.number} → ${after.number}${ago}: ${cut(whatChanged(before, after))}`;
}

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
function named(folder: string, path: string): string {
  const file = join(folder, path);
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}

/** Where, what, and the lines around it; the version before stays in force. */
function errorText(folder: string, path: string, error: FileError, hasVersion: boolean): string {
  const { file = path, line, column } = error;
  const prefix = `${file}:${line}: `;
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
  const place = `${named(folder, file)}${line === undefined ? "" : `:${line}${column === undefined ? "" : `:${column}`}`}`;
  const of = file === path ? "" : ` (used by ${named(folder, path)})`;
  const frame = line === undefined ? "" : codeFrame(join(folder, file), line, column);
  const now = hasVersion ? "the last good version stays in force" : "it defines no DAG until that is mended";
  return `${place}${of}  ${message}${frame}\n          ${now}`;
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
