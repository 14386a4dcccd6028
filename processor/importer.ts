import { writeChild } from "./child-code.ts";
import { type ChildAnswer, ImportChild } from "./import-child.ts";
import type { ImportHow } from "./protocol.ts";
import type { ImportLimits } from "./types.ts";

interface Waiting {
  readonly path: string;
  resolve(answer: PromptAnswer): void;
  reject(error: unknown): void;
}

/** `alone`: the file was not prompt, or the child it shared died: whose fault it was is not known yet. */
export type PromptAnswer = ChildAnswer | { readonly kind: "alone" };

/**
 * Imports bundles in child processes, in two lanes, so that a file that hangs keeps nobody waiting: prompt files share
 * a few children; any other is imported again in a child of its own. One started child is kept ready, because on a busy
 * machine its start is most of the time between saving a file and seeing it.
 */
export class Importer {
  #limits: ImportLimits;
  #cwd: string;
  #folder: string;
  #strict: boolean;
  #queue: Waiting[] = [];
  #lanes = 0;
  #alone = 0;
  #aloneQueue: (() => void)[] = [];
  #spare: Promise<ImportChild> | undefined;
  #live = new Set<ImportChild>();
  #stopped = false;

  /** `folder`: of this importer alone, inside the project; bundles to be imported are to lie in it. */
  constructor(folder: string, limits: ImportLimits, cwd: string) {
    this.#folder = folder;
    this.#strict = limits.filesPerChild === 1;
    this.#limits = limits;
    this.#cwd = cwd;
  }

  /** The folder in which files are imported from now on. */
  move(cwd: string): void {
    this.#cwd = cwd;
    const spare = this.#spare;
    this.#spare = undefined;
    void spare?.then(
      (child) => this.#end(child),
      () => {},
    );
  }

  /** Starts a child ahead of its first file. */
  warm(): void {
    if (this.#stopped) return;
    this.#spare ??= this.#start();
    // Whoever takes it sees the error.
    this.#spare.catch(() => {});
  }

  /** Shares a child with other files; answers within a few seconds once its turn has come. */
  prompt(path: string): Promise<PromptAnswer> {
    if (this.#stopped) return Promise.resolve(STOPPED);
    return new Promise((resolve, reject) => {
      this.#queue.push({ path, resolve, reject });
      if (this.#lanes < this.#limits.children) void this.#lane();
    });
  }

  /** In a child of its own, with the whole time limit. `shifted`: see `ImportHow`. */
  async alone(path: string, shifted: boolean, signal?: AbortSignal): Promise<ChildAnswer> {
    if (this.#alone >= this.#limits.children) {
      await new Promise<void>((resolve) => this.#aloneQueue.push(resolve));
    }
    this.#alone += 1;
    try {
      if (this.#stopped || signal?.aborted) return STOPPED;
      const child = await this.#start();
      const abort = () => this.#end(child);
      signal?.addEventListener("abort", abort);
      try {
        return await child.import(path, this.#limits.timeoutMs, this.#how(shifted));
      } finally {
        signal?.removeEventListener("abort", abort);
        this.#end(child);
      }
    } finally {
      this.#alone -= 1;
      this.#aloneQueue.shift()?.();
    }
  }

  /** Kills every child; what is under way is answered `stopped`. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const waiting of this.#queue.splice(0)) waiting.resolve(STOPPED);
    for (const child of this.#live) child.kill();
    this.#live.clear();
    await this.#spare?.catch(() => {});
  }

  async #lane(): Promise<void> {
    this.#lanes += 1;
    let child: ImportChild | undefined;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      try {
        const isFull = (at: ImportChild) => at.gone || at.spent || at.taken >= this.#limits.filesPerChild;
        if (child === undefined || isFull(child)) {
          this.#end(child);
          child = await this.#take();
        }
        const timeoutMs = Math.min(this.#limits.promptMs, this.#limits.timeoutMs);
        const answer = await child.import(next.path, timeoutMs, this.#how(false));
        next.resolve(this.#isConclusive(answer, child) ? answer : { kind: "alone" });
      } catch (error) {
        next.reject(error);
      }
    }
    this.#lanes -= 1;
    this.#end(child);
    if (this.#lanes === 0) this.warm();
  }

  #how(shifted: boolean): ImportHow {
    return { strict: this.#strict, shifted };
  }

  /** Whether a file that had this child to itself would have been answered the same. */
  #isConclusive(answer: ChildAnswer, child: ImportChild): boolean {
    // Another file of this child may have done it, and only now.
    if (answer.kind !== "died") return !child.spent || child.taken === 1;
    if (answer.cause === "stopped") return true;
    if (answer.cause === "timeout")
      return child.taken === 1 && this.#limits.promptMs >= this.#limits.timeoutMs;
    return child.taken === 1;
  }

  async #take(): Promise<ImportChild> {
    const spare = this.#spare;
    this.#spare = undefined;
    const child = await spare?.catch(() => undefined);
    return child === undefined || child.gone ? await this.#start() : child;
  }

  async #start(): Promise<ImportChild> {
    const program = await writeChild(this.#folder);
    const child = new ImportChild(program, this.#limits, this.#cwd);
    this.#live.add(child);
    if (this.#stopped) this.#end(child);
    return child;
  }

  #end(child: ImportChild | undefined): void {
    if (child === undefined) return;
    child.kill();
    this.#live.delete(child);
  }
}

const STOPPED: ChildAnswer = {
  kind: "died",
  cause: "stopped",
  error: { code: "import_stopped", message: "the processor is stopping" },
  durationMs: 0,
};
