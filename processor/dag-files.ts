import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { inParallel } from "../core/in-parallel.ts";
import { importsOf, type ModuleText, stemOf } from "./imports-of.ts";
import { isLeftOut, isModule, mayBeDagFile } from "./scan.ts";

/** More at once gain nothing: four threads read. */
const READS_AT_ONCE = 32;

interface Module extends ModuleText {
  /** Of the file as it was read; empty: it may have changed while it was. */
  readonly stamp: string;
}

/**
 * Which files of a folder are DAG files, told by their text, before the dear import: those that call something that
 * ends in `dag(` or import "meridian", and those that use a module of the folder that does, at any distance. A text is
 * read again when its file has changed. Paths are relative to the folder, with `/`.
 */
export class DagFiles {
  readonly #folder: string;
  readonly #modules = new Map<string, Module>();
  /** Until some module says something else. */
  #found: ReadonlySet<string> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * All of them, in order; a `known` one is one while it is there, whatever it says now. Throws when the folder cannot
   * be read.
   */
  scan(known: readonly string[] = []): Promise<string[]> {
    return this.#inTurn(() => this.#scan(known));
  }

  async #scan(known: readonly string[]): Promise<string[]> {
    const paths: string[] = [];
    await walk(this.#folder, "", paths);
    const present = new Set(paths);
    for (const path of this.#modules.keys()) if (!present.has(path)) this.#forget(path);
    await this.#readAll(paths);
    return [...new Set([...this.#dagFiles(), ...known.filter((path) => this.#modules.has(path))])].sort();
  }

  /**
   * These files changed, came or went: those of them that are DAG files now, as a scan would say, and those that have
   * become some by it, since they use what has changed.
   */
  changed(paths: readonly string[], known: ReadonlySet<string> = new Set()): Promise<string[]> {
    return this.#inTurn(() => this.#changed(paths, known));
  }

  async #changed(paths: readonly string[], known: ReadonlySet<string>): Promise<string[]> {
    const before = this.#dagFiles();
    await this.#readAll(paths.filter(isModule));
    const now = this.#dagFiles();
    const present = paths.filter((path) => now.has(path) || (known.has(path) && this.#modules.has(path)));
    return [...new Set([...present, ...[...now].filter((path) => !before.has(path))])];
  }

  /** Whether another module of the folder, as far as it was read, imports this one or its types. */
  isImported(path: string): boolean {
    const stem = stemOf(path);
    return [...this.#modules].some(
      ([other, { uses, loads, types }]) =>
        other !== path && [uses, loads, types].some((stems) => stems.includes(stem)),
    );
  }

  /** What a scan finds is not what has changed since. */
  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  async #readAll(paths: readonly string[]): Promise<void> {
    await inParallel(paths, READS_AT_ONCE, async (path) => await this.#read(path));
  }

  async #read(path: string): Promise<void> {
    const absolute = join(this.#folder, path);
    const before = this.#modules.get(path);
    try {
      const readAt = Date.now();
      const file = await stat(absolute);
      // Links to files count, links to folders do not: they may lead in a circle.
      if (!file.isFile()) return this.#forget(path);
      const stamp = file.mtimeMs >= readAt - 1 ? "" : `${file.mtimeMs}:${file.size}:${file.ino}`;
      if (stamp !== "" && before?.stamp === stamp) return;
      const says = importsOf(path, await readFile(absolute, "utf8"));
      if (before === undefined || !isSame(before, says)) this.#found = undefined;
      this.#modules.set(path, { ...says, stamp });
    } catch {
      this.#forget(path);
    }
  }

  #forget(path: string): void {
    if (this.#modules.delete(path)) this.#found = undefined;
  }

  #dagFiles(): ReadonlySet<string> {
    return (this.#found ??= dagFilesOf(this.#modules));
  }
}

/** Every DAG file below a folder, relative to it with `/`, in order. Throws when the folder cannot be read. */
export const scan = async (folder: string): Promise<string[]> => await new DagFiles(folder).scan();

const isSame = (a: ModuleText, b: ModuleText): boolean =>
  a.own === b.own &&
  a.passesOn === b.passesOn &&
  (["uses", "loads", "types"] as const).every((kind) => a[kind].join("\n") === b[kind].join("\n"));

function dagFilesOf(modules: ReadonlyMap<string, ModuleText>): ReadonlySet<string> {
  const importers = new Map<string, string[]>();
  for (const [path, { uses, loads }] of modules) {
    for (const stem of [...uses, ...loads]) {
      const known = importers.get(stem);
      if (known === undefined) importers.set(stem, [path]);
      else known.push(path);
    }
  }
  // Stems of modules by which DAGs can be made, each found once.
  const makers = new Set<string>();
  const add = (path: string): void => {
    const stem = stemOf(path);
    if (makers.has(stem)) return;
    makers.add(stem);
    open.push(stem);
  };
  const open: string[] = [];
  for (const [path, { own, passesOn }] of modules) if (own || passesOn) add(path);
  for (let stem = open.pop(); stem !== undefined; stem = open.pop()) importers.get(stem)?.forEach(add);

  const found = new Set<string>();
  for (const [path, { own, uses }] of modules) {
    if (mayBeDagFile(path) && (own || uses.some((stem) => makers.has(stem)))) found.add(path);
  }
  return found;
}

async function walk(folder: string, below: string, paths: string[]): Promise<void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (isLeftOut(entry.name)) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) await walk(folder, path, paths);
    else if (isModule(path)) paths.push(path);
  }
}
