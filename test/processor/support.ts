import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { createProcessor, type Processor, type ProcessorOptions } from "../../processor/processor.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** A DAG folder and a data folder inside the project, so that `meridian` resolves; both removed by `remove`. */
export interface Workplace {
  readonly folder: string;
  readonly home: string;
  write(path: string, text: string): void;
  unlink(path: string): void;
  /** Makes `path` a link to `target`. */
  link(target: string, path: string): void;
  remove(): void;
}

export function makeWorkplace(): Workplace {
  const root = join(PROJECT, ".meridian", `tmp-${randomUUID()}`);
  const folder = join(root, "dags");
  mkdirSync(folder, { recursive: true });
  return {
    folder,
    home: join(root, "home"),
    write: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    unlink: (path) => unlinkSync(join(folder, path)),
    link: (target, path) => symlinkSync(join(folder, target), join(folder, path)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

export interface Lines {
  readonly lines: string[];
  readonly log: ProcessorOptions["log"];
}

/** Keeps what was logged. */
export function makeLog(): Lines {
  const lines: string[] = [];
  const keep = (level: string) => (fields: object, message: string) => {
    const { err } = fields as { err?: Error };
    lines.push(`${level} ${message}${err === undefined ? "" : ` ${err.stack}`}`);
  };
  return { lines, log: { info: keep("info"), warn: keep("warn"), error: keep("error") } };
}

/** A processor that is told of every change by `pass()` alone, unless it is started. */
export function makeProcessor(
  place: Workplace,
  pool: pg.Pool,
  options: Partial<ProcessorOptions> = {},
): Processor {
  const { folder, home } = place;
  return createProcessor({ pool, folder, home, log: makeLog().log, onStored: () => {}, ...options });
}

/** Text of a DAG file with one task. */
export const dagText = (id: string, options = "{}", body = "() => 1"): string =>
  `import { dag, task } from "meridian";\nexport default dag("${id}", ${options}, () => {\n  task("t", ${body});\n});\n`;

/** Asks until the answer is there. */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false>,
  withinMs = 10_000,
): Promise<T> {
  for (const until = Date.now() + withinMs; ;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > until) throw new Error(`nothing within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
