import { fork, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { LogLine } from "../../core/body.ts";
import { STUB, type Channel, type ChannelEvents } from "./channel.ts";
import type { FromPool, ToPool, Vitals } from "./messages.ts";
import { bodyEnvironment, readLines, signalGroup } from "./process.ts";

const NO_NEWS: Vitals = { silentMs: 0, taken: 0, current: 0, heapMb: 0 };
/** Longer than a thread's own end takes (3 s); then the whole process is given up. */
const END_MS = 6_000;
const LAST_WORDS_MS = 500;

export interface BodyProcessEvents {
  /** It has died with all its threads; the channels are silent from now on. */
  readonly onDeath: (message: string) => void;
  /** What belongs to no try: output of stray code, Node's own last words. */
  readonly onOutput: (level: LogLine["level"], text: string) => void;
}

interface Opened {
  readonly events: ChannelEvents;
  vitals: Vitals;
  stopped: ((ok: boolean) => void) | null;
}

/**
 * The process that holds the body threads, started when the first thread is opened. Node ends a whole process when
 * one of its threads runs out of memory in certain ways (one growing array is enough), so it is never the worker's own.
 */
export class BodyProcess {
  readonly #events: BodyProcessEvents;
  #child: ChildProcess | null = null;
  readonly #threads = new Map<number, Opened>();
  #opened = 0;
  #outbox: ToPool[] = [];
  #held = false;

  constructor(events: BodyProcessEvents) {
    this.#events = events;
  }

  openThread(memoryMb: number, events: ChannelEvents): Channel {
    this.#child ??= this.#start();
    this.#opened += 1;
    const id = this.#opened;
    const opened: Opened = { events, vitals: NO_NEWS, stopped: null };
    this.#threads.set(id, opened);
    this.#post({ t: "open", id, memoryMb });
    return {
      post: (message) => this.#post({ t: "to", id, message }),
      end: () => this.#end(id),
      get vitals() {
        return opened.vitals;
      },
    };
  }

  /** Keeps this process alive, or does not. */
  hold(on: boolean): void {
    if (on === this.#held) return;
    this.#held = on;
    if (this.#child !== null) this.#applyHold(this.#child);
  }

  #applyHold(child: ChildProcess): void {
    for (const part of [child, child.channel, child.stdout as Socket | null, child.stderr as Socket | null]) {
      if (this.#held) part?.ref();
      else part?.unref();
    }
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    // Whoever waits for this must live to see it.
    this.hold(true);
    this.#child = null;
    let late: NodeJS.Timeout | undefined;
    const gone = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      late = setTimeout(resolve, END_MS);
    });
    signalGroup(child, "SIGKILL");
    await gone;
    clearTimeout(late);
  }

  #start(): ChildProcess {
    const child = fork(STUB, ["pool"], {
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      serialization: "advanced",
      env: bodyEnvironment(),
      // A group of its own: Ctrl-C in a terminal is for the worker, which drains; and what bodies spawn ends with it.
      detached: true,
    });
    this.#child = child;
    this.#applyHold(child);
    readLines(child.stdout!, (text) => this.#events.onOutput("info", text));
    readLines(child.stderr!, (text) => this.#events.onOutput("warn", text));
    child.on("message", (batch) => {
      for (const message of batch as FromPool[]) this.#take(message);
    });
    child.on("error", (error) => this.#died(child, error.message));
    child.on("exit", (code, signal) => {
      const died = (): void => this.#died(child, signal === null ? `exit code ${code}` : signal);
      // What it said before it died is still to be read.
      if (!child.connected) return died();
      child.once("disconnect", died);
      setTimeout(died, LAST_WORDS_MS).unref();
    });
    return child;
  }

  #died(child: ChildProcess, how: string): void {
    signalGroup(child, "SIGKILL");
    if (this.#child !== child) return;
    this.#child = null;
    const threads = [...this.#threads.values()];
    this.#threads.clear();
    this.#outbox = [];
    this.#events.onDeath(`the process of the body threads has died (${how})`);
    for (const { stopped } of threads) stopped?.(true);
  }

  #end(id: number): Promise<boolean> {
    const opened = this.#threads.get(id);
    if (opened === undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        resolve(false);
        // It does not answer at all: without it there are other threads.
        if (this.#child !== null) signalGroup(this.#child, "SIGKILL");
      }, END_MS);
      opened.stopped = (ok) => {
        clearTimeout(late);
        resolve(ok);
      };
      this.#post({ t: "end", id });
    });
  }

  #take(message: FromPool): void {
    const opened = this.#threads.get(message.id);
    if (opened === undefined) return;
    if (message.t === "from") return opened.events.onMessage(message.message);
    if (message.t === "vitals") {
      opened.vitals = message.vitals;
      return;
    }
    if (message.t === "ended") {
      if (opened.stopped === null) this.#threads.delete(message.id);
      return opened.events.onEnd(message.why);
    }
    this.#threads.delete(message.id);
    opened.stopped?.(message.ok);
  }

  /** Messages of one turn of the event loop travel together. */
  #post(message: ToPool): void {
    this.#outbox.push(message);
    if (this.#outbox.length > 1) return;
    setImmediate(() => {
      const batch = this.#outbox;
      this.#outbox = [];
      if (batch.length > 0 && this.#child?.connected) this.#child.send(batch, () => undefined);
    });
  }
}
