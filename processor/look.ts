import { sep } from "node:path";
import type { FileRow } from "../db/dags/types.ts";
import { bundleOne, type Examined, importOne, type Surroundings } from "./examine.ts";
import { changedAt, stampOf } from "./scan.ts";
import type { Finding } from "./store.ts";
import type { StoreQueue } from "./store-queue.ts";

/** A file that failed may fail no more though it is the same: a package was installed, the machine was busy. */
const RETRY_MS = 300_000;

interface FileState {
  /** Rises with each look: what an older one finds is dropped. */
  look: number;
  busy: boolean;
  /** Absolute paths of the file and all that it imports. */
  inputs: readonly string[];
  /** Of the inputs when they were read; empty: look again. */
  stamp: string;
  bundles: boolean;
  /** When what was found last had been read (epoch ms); 0: never. */
  readAt: number;
  retryAt: number;
  /** The error that was told last, so that one that is only met again is not; null: none. */
  told: string | null;
  /** Ends the slow import of the look under way. */
  abort: AbortController;
}

/** What was read, and when. */
interface Read {
  readonly at: number;
  readonly stamp: string;
  readonly path: string;
  /** Whether it has been written since it was read before. */
  readonly saved: boolean;
  /** When it had been changed. */
  readonly changedAt: number;
  /** Whether an error of the file was stored before. */
  readonly failed: boolean;
}

export interface LookerHooks {
  /** Files outside of the folder on which a DAG file depends. */
  depends(paths: readonly string[]): void;
  failed(finding: Extract<Finding, { kind: "failed" }>): void;
  /** It, or what it imports, was saved, and its DAGs are as before. */
  same(path: string): void;
  /** A look that came to nothing through no fault of the file; its next due look tries again. */
  complain(error: unknown): void;
}

export type Looked = "unchanged" | "stored" | "failed" | "slow" | "dropped";

/** Looks at files, each look replacing the one before it, and knows what each file was when it was last looked at. */
export class Looker {
  #files = new Map<string, FileState>();
  #slow = new Set<Promise<unknown>>();
  #queue: StoreQueue;
  #hooks: LookerHooks;
  #startedAt = Date.now();

  constructor(queue: StoreQueue, hooks: LookerHooks) {
    this.#queue = queue;
    this.#hooks = hooks;
  }

  get paths(): readonly string[] {
    return [...this.#files.keys()];
  }

  /**
   * Whether a rescan has to look at the file. `outdated`: its stored error has gone with what another file defined;
   * whoever found that out looks again at once, unless it ended before. `row`: what is stored of it by now; an error
   * that another processor's import, maybe of a newer folder, has ended is not tried again.
   */
  async isDue(path: string, outdated: boolean, row: FileRow | undefined): Promise<boolean> {
    const state = this.#files.get(path);
    if (state === undefined) return true;
    if (state.busy) return false;
    if (outdated || state.stamp === "") return true;
    if ((row?.error ?? null) !== null && (!state.bundles || state.retryAt < Date.now())) return true;
    return (await stampOf(state.inputs)) !== state.stamp;
  }

  /** DAG files to look at when these files have changed (K61). */
  dependants(changed: ReadonlySet<string>): string[] {
    const isTouched = ({ bundles, inputs }: FileState) =>
      // One that does not bundle may lack a file that has come only now.
      !bundles || inputs.some((input) => changed.has(input));
    return [...this.#files].filter(([, state]) => isTouched(state)).map(([path]) => path);
  }

  forget(paths: readonly string[]): void {
    for (const path of paths) {
      const state = this.#files.get(path);
      if (state !== undefined) state.look += 1;
      state?.abort.abort();
      this.#files.delete(path);
    }
  }

  /** Once no slow import is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#slow);
  }

  /** Bundles, imports and stores one file. `slow`: goes on by itself. Throws when the database or the children fail. */
  async look(
    around: Surroundings,
    path: string,
    row: FileRow | undefined,
    leaving: ReadonlySet<string>,
  ): Promise<Looked> {
    const stampBefore = this.#files.get(path)?.stamp ?? "";
    const state = this.#begin(path);
    const look = state.look;
    const isCurrent = () => state.look === look;
    let slow = false;
    try {
      const readAt = Date.now();
      const { inputs, bundle, finding } = await bundleOne(around.folder, path);
      if (!isCurrent()) return "dropped";
      state.bundles = bundle !== null;
      state.inputs = bundle === null ? [...new Set([...inputs, ...state.inputs])] : inputs;
      this.#hooks.depends(inputs.filter((input) => !input.startsWith(around.folder + sep)));
      const stamp = await stampOf(inputs, readAt);
      const read: Read = {
        at: readAt,
        stamp,
        path,
        saved: stampBefore !== "" && stamp !== stampBefore,
        changedAt: await changedAt(inputs),
        failed: (row?.error ?? null) !== null,
      };
      const examined: Examined =
        bundle === null
          ? { kind: "found", finding: finding! }
          : await importOne(around, path, bundle, row?.content_hash ?? null, state.abort.signal);
      if (examined.kind !== "slow") return await this.#settle(state, isCurrent, read, examined, leaving);
      slow = true;
      this.#follow(state, isCurrent, read, examined.rest, leaving);
      return "slow";
    } finally {
      if (isCurrent() && !slow) state.busy = false;
    }
  }

  #follow(
    state: FileState,
    isCurrent: () => boolean,
    read: Read,
    rest: Promise<Examined>,
    leaving: ReadonlySet<string>,
  ): void {
    const following = rest
      .then((examined) => this.#settle(state, isCurrent, read, examined, leaving))
      .catch((error: unknown) => this.#hooks.complain(error))
      .finally(() => {
        if (isCurrent()) state.busy = false;
        this.#slow.delete(following);
      });
    this.#slow.add(following);
  }

  async #settle(
    state: FileState,
    isCurrent: () => boolean,
    read: Read,
    examined: Examined,
    leaving: ReadonlySet<string>,
  ): Promise<Looked> {
    if (examined.kind === "unchanged") {
      if (!isCurrent()) return "unchanged";
      this.#know(state, read);
      if (read.saved) this.#hooks.same(read.path);
      return "unchanged";
    }
    if (examined.kind !== "found") return "dropped";
    const queueMs = this.#queueMs(state, read, Date.now() - examined.finding.durationMs);
    const finding = { ...examined.finding, queueMs };
    const kept = await this.#queue.add(finding, leaving, isCurrent);
    if (kept === "dropped" || !isCurrent()) return "dropped";
    this.#know(state, read);
    state.retryAt = Number.POSITIVE_INFINITY;
    if (kept === "same" && read.saved) this.#hooks.same(read.path);
    const told = state.told;
    state.told = finding.kind === "ok" ? null : finding.error.message;
    if (finding.kind === "ok") return "stored";
    state.retryAt = Date.now() + RETRY_MS;
    if (read.saved || told !== state.told) this.#hooks.failed(finding);
    return "failed";
  }

  #know(state: FileState, { at, stamp }: Read): void {
    state.stamp = stamp;
    state.readAt = at;
  }

  /** How long a change waited for its import; what changed before this process began waited only since then. */
  #queueMs(state: FileState, read: Read, importedAt: number): number | null {
    if (read.changedAt <= state.readAt) return null;
    // A start tries again what failed before it.
    if (read.failed && read.changedAt <= this.#startedAt) return null;
    return Math.max(0, Math.round(importedAt - Math.max(read.changedAt, this.#startedAt)));
  }

  #begin(path: string): FileState {
    const state: FileState = this.#files.get(path) ?? {
      look: 0,
      busy: true,
      inputs: [],
      stamp: "",
      bundles: true,
      readAt: 0,
      retryAt: Number.POSITIVE_INFINITY,
      told: null,
      abort: new AbortController(),
    };
    state.abort.abort();
    state.look += 1;
    state.busy = true;
    state.stamp = "";
    state.abort = new AbortController();
    this.#files.set(path, state);
    return state;
  }
}
