import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../db/connection.ts";
import { readFilesByPath } from "../db/dags/read-files.ts";
import type { ProcessorOptions } from "../processor/processor.ts";
import type { FileError } from "../processor/types.ts";
import { errorText, goneText, named, sameText, versionText } from "./save-text.ts";

/** Between two looks whether a broken file is mended. */
const MENDED_MS = 300;
/** What one save of a shared module comes to is told together. */
const TOGETHER_MS = 300;

type Log = ProcessorOptions["log"];

/** What a processor tells whoever started the product. */
export interface Voice {
  /** In place of the process log. */
  readonly log: Log;
  /** Versions that came into force. */
  readonly stored: (dagIds: readonly string[]) => void;
  /** A DAG file was saved, and what is run is as before. */
  readonly same: (path: string) => void;
  /** The first pass is over: from here on each version is told. */
  readonly begin: () => void;
  readonly end: () => void;
}

interface Surroundings {
  readonly db: Db;
  /** The DAG folder. */
  readonly folder: string;
  /** For what no save has done. */
  readonly log: Log;
  readonly print: (text: string) => void;
}

/** Names what was stored; a file's errors with its lines, and when it is mended or gone. */
export function createPlainVoice(around: Surroundings): Voice {
  const { say, begun, voice } = speaker(around);
  return {
    ...voice,
    stored: (dagIds) => void (begun() && say(`stored: ${dagIds.join(", ")}`)),
    same: () => {},
  };
}

/** Tells whoever edits DAG files what each save did, a line for each. */
export function createDevVoice(around: Surroundings): Voice {
  const { say, begun, attempt, voice } = speaker(around);
  const { db } = around;
  const folder = resolve(around.folder);
  const same = new Set<string>();
  return {
    ...voice,
    stored: (dagIds) => {
      if (!begun()) return;
      for (const dagId of dagIds) attempt(async () => say(await versionText(db, folder, dagId)));
    },
    same: (path) => {
      if (!begun()) return;
      same.add(path);
      if (same.size > 1) return;
      setTimeout(() => {
        say(sameText(folder, [...same].sort()));
        same.clear();
      }, TOGETHER_MS).unref();
    },
  };
}

function speaker({ db, folder, log, print }: Surroundings) {
  const root = resolve(folder);
  const broken = new Set<string>();
  let begun = false;
  let ended = false;
  let watching = false;
  const say = (text: string): void => print(`${timeText()}  ${text}`);
  const attempt = (action: () => Promise<void>): void =>
    void action().catch((error: unknown) => {
      // The database goes with the product: what it answers after the end is nobody's.
      if (!ended) log.error({ err: error }, "what a save did could not be told");
    });

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
        if (ended) return;
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

  const voice = {
    log: {
      info: (fields, text) => {
        log.info(fields, text);
        const { gone } = fields as { readonly gone?: readonly string[] };
        if (begun && gone !== undefined) say(goneText(gone));
      },
      warn: (fields, text) => {
        const { path } = fields as { readonly path?: string };
        if (path === undefined) log.warn(fields, text);
        else attempt(async () => await tellError(path));
      },
      error: (fields, text) => log.error(fields, text),
    },
    begin: () => {
      begun = true;
    },
    end: () => {
      ended = true;
    },
  } satisfies Pick<Voice, "log" | "begin" | "end">;
  return { say, attempt, begun: () => begun, voice };
}

const timeText = (): string => new Date().toTimeString().slice(0, 8);
