import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import type pg from "pg";
import { readFiles, readFilesByPath } from "../db/dags/read-files.ts";
import type { FileRow } from "../db/dags/types.ts";
import { outdatedDuplicates } from "./claims.ts";
import { DagFiles } from "./dag-files.ts";
import type { Surroundings } from "./examine.ts";
import { lockHashOf } from "./hashes.ts";
import { makeImportFolder } from "./import-folder.ts";
import { Importer } from "./importer.ts";
import { inParallel } from "../core/in-parallel.ts";
import { lineOfId } from "./line-of-id.ts";
import { Looker } from "./look.ts";
import { mayBeDagFile, nameIn } from "./scan.ts";
import { placeOf } from "./source-error.ts";
import { type Stored, storeFindings } from "./store.ts";
import { StoreQueue } from "./store-queue.ts";
import { DEFAULT_LIMITS, type ImportLimits } from "./types.ts";
import { type Watch, watchFolder } from "./watch.ts";

/** As pino's. */
interface ProcessorLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ProcessorOptions {
  readonly pool: pg.Pool;
  /** With the DAG files. */
  readonly folder: string;
  /** The data folder; inside the project, so that `meridian` and packages resolve from it. */
  readonly home: string;
  readonly limits?: Partial<ImportLimits>;
  /** Between two looks at every file, behind the watching. */
  readonly rescanMs?: number;
  readonly log: ProcessorLog;
  /** New, changed and returned DAGs, once they are stored. */
  readonly onStored: (dagIds: readonly string[]) => unknown;
  /** This DAG file, or what it imports, was saved, and its DAGs are as before. */
  readonly onSame?: (path: string) => unknown;
}

/** What a pass did. */
interface Summary {
  readonly files: number;
  /** Imported and stored; what is left of the sum was as before. */
  readonly stored: number;
  readonly failed: number;
  /** Not prompt, and tried again by themselves. */
  readonly slow: number;
  readonly gone: number;
  readonly durationMs: number;
}

export interface Processor {
  /** Watches from now on; done when every file was looked at once (those that hang may still be under way). */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Looks at every file that changed since the last look, and waits for all of them. */
  pass(): Promise<Summary>;
}

const RESCAN_MS = 30_000;
/** Bundling is parallel inside esbuild; more of them only keep the importing children busy. */
const LOOKS_AT_ONCE = 32;

/** Keeps the database in step with a folder of DAG files. Several may do so at once. */
export function createProcessor(options: ProcessorOptions): Processor {
  return new FolderProcessor(options);
}

class FolderProcessor implements Processor {
  #options: ProcessorOptions;
  #folder: string;
  #importFolder: string;
  #importer: Importer;
  #dagFiles: DagFiles;
  #looker: Looker;
  #queue: StoreQueue;
  #lockHash: string | null = null;
  #watch: Watch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<unknown> = Promise.resolve();
  #first = true;
  #stopped = false;
  #lineOf = (path: string, dagId: string) => lineOfId(resolve(this.#folder, path), dagId);

  constructor(options: ProcessorOptions) {
    const { log } = options;
    this.#options = options;
    this.#folder = realpathSync(options.folder);
    this.#importFolder = makeImportFolder(options.home);
    this.#importer = new Importer(this.#importFolder, { ...DEFAULT_LIMITS, ...options.limits }, this.#folder);
    this.#dagFiles = new DagFiles(this.#folder);
    this.#queue = new StoreQueue(options.pool, (stored) => this.#stored(stored), this.#lineOf);
    this.#looker = new Looker(this.#queue, {
      depends: (paths) => this.#watch?.add(paths),
      failed: ({ path, error }) =>
        log.warn({ path, code: error.code, line: error.line }, `${placeOf(path, error)}: ${error.message}`),
      same: (path) => options.onSame?.(path),
      complain: (error) => this.#complain(error),
    });
  }

  async start(): Promise<void> {
    this.#importer.warm();
    this.#watch = await this.#newWatch();
    const summary = await this.#inTurn(() => this.#pass());
    this.#options.log.info({ ...summary }, "DAG files read");
    this.#rescanLater();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#watch?.stop();
    await this.#importer.stop();
    await this.#passing.catch(() => {});
    await this.#looker.idle();
    await this.#queue.idle();
    await rm(this.#importFolder, { recursive: true, force: true });
  }

  async pass(): Promise<Summary> {
    const summary = await this.#inTurn(() => this.#pass());
    await this.#looker.idle();
    return summary;
  }

  #newWatch(): Promise<Watch> {
    return watchFolder(
      this.#folder,
      (paths) => this.#attempt(() => this.#changed(paths)),
      (error) => this.#complain(error),
    );
  }

  /** Throws when the folder is away: its files are not gone then. */
  #realFolder(): string {
    return realpathSync(this.#options.folder);
  }

  /** The folder may be a link, and a deployment its swap (git-sync). What lay in the folder before is looked at no more. */
  async #follow(): Promise<void> {
    const folder = this.#realFolder();
    if (folder === this.#folder) return;
    this.#folder = folder;
    this.#importer.move(folder);
    this.#dagFiles = new DagFiles(folder);
    if (this.#watch === undefined || this.#stopped) return;
    await this.#watch.stop();
    this.#watch = await this.#newWatch();
    if (this.#stopped) await this.#watch.stop();
  }

  #rescanLater(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#attempt(() => this.#inTurn(() => this.#pass()).finally(() => this.#rescanLater()));
    }, this.#options.rescanMs ?? RESCAN_MS);
  }

  #inTurn<T>(pass: () => Promise<T>): Promise<T> {
    const result = this.#passing.catch(() => {}).then(pass);
    this.#passing = result;
    return result;
  }

  async #pass(): Promise<Summary> {
    const startedAt = performance.now();
    await this.#follow();
    const paths = await this.#dagFiles.scan(this.#looker.paths);
    const lockHash = lockHashOf(this.#folder);
    const all = lockHash !== this.#lockHash;
    this.#lockHash = lockHash;

    const rows = await readFiles(this.#options.pool);
    // Only the first pass judges by what others stored: later on two folders of different age would undo each other.
    const before = this.#first ? rows.map((row) => row.path) : this.#looker.paths;
    const present = new Set(paths);
    const gone = before.filter((path) => !present.has(path));
    const due: string[] = [];
    const outdated = outdatedDuplicates(rows);
    const known = new Map(rows.map((row) => [row.path, row]));
    for (const path of paths) {
      if (all || (await this.#looker.isDue(path, outdated.has(path), known.get(path)))) due.push(path);
    }
    const looked = await this.#look(due, rows, gone);
    this.#first = false;
    const durationMs = Math.round(performance.now() - startedAt);
    return { files: paths.length, ...looked, gone: gone.length, durationMs };
  }

  /** Looks at the files that changed, and at those that import them. */
  async #changed(changed: readonly string[]): Promise<void> {
    if (this.#realFolder() !== this.#folder) return void (await this.#inTurn(() => this.#pass()));
    const touched = new Set(this.#looker.dependants(new Set(changed)));
    const known = new Set(this.#looker.paths);
    const gone: string[] = [];
    const names = changed.map((file) => nameIn(this.#folder, file));
    const present = new Set(await this.#dagFiles.changed(names, known));
    for (const path of present) touched.add(path);
    for (const path of names) {
      if (!mayBeDagFile(path) || present.has(path)) continue;
      if (touched.delete(path) || known.has(path)) gone.push(path);
    }
    await this.#lookAgain([...touched], gone);
  }

  async #lookAgain(paths: readonly string[], gone: readonly string[] = []): Promise<void> {
    if (paths.length > 0 || gone.length > 0) {
      await this.#look(paths, await readFilesByPath(this.#options.pool, paths), gone);
    }
  }

  async #look(
    paths: readonly string[],
    rows: readonly FileRow[],
    gone: readonly string[],
  ): Promise<{ stored: number; failed: number; slow: number }> {
    const counts = { unchanged: 0, stored: 0, failed: 0, slow: 0, dropped: 0 };
    const known = new Map(rows.map((row) => [row.path, row]));
    const leaving = new Set(gone);
    const around = this.#around();
    await inParallel(paths, LOOKS_AT_ONCE, async (path) => {
      if (!this.#stopped) counts[await this.#looker.look(around, path, known.get(path), leaving)] += 1;
    });
    if (gone.length > 0 && !this.#stopped) {
      this.#stored(await storeFindings(this.#options.pool, [], gone, new Set(), this.#lineOf));
      this.#looker.forget(gone);
    }
    const { stored, failed, slow } = counts;
    return { stored, failed, slow };
  }

  #around(): Surroundings {
    return {
      folder: this.#folder,
      importFolder: this.#importFolder,
      importer: this.#importer,
      lockHash: this.#lockHash,
    };
  }

  #stored({ changed, deactivated, conflicts, mended, recheck }: Stored): void {
    const { log, onStored } = this.#options;
    for (const [path, error] of conflicts) log.warn({ path, code: error.code }, error.message);
    for (const path of mended) log.info({ mended: path }, `${path} is fine again`);
    if (deactivated.length > 0) log.info({ gone: deactivated }, "no file defines these DAGs any more");
    if (changed.length > 0) {
      log.info({ dags: changed }, "DAGs stored");
      this.#attempt(async () => onStored(changed));
    }
    if (recheck.length > 0) this.#attempt(() => this.#lookAgain(recheck));
  }

  #attempt(action: () => Promise<unknown>): void {
    action().catch((error: unknown) => this.#complain(error));
  }

  #complain(error: unknown): void {
    if (this.#stopped) return;
    this.#options.log.error({ err: error }, "DAG files could not be read; the next rescan tries again");
  }
}
