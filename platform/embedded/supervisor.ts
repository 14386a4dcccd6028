import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessId, isAlive } from "./process.ts";

/** A server in a process of its own. */
export interface RunningPart {
  readonly process: ProcessId;
  stop(): Promise<void>;
}

/** Asking for a process is one small file on Linux and a program elsewhere. */
const LOOK_EVERY_MS = process.platform === "linux" ? 500 : 5_000;
const LONGEST_PAUSE_MS = 10_000;

/** Keeps one part alive: a killed server is started again on the same port and data, until stopped. */
export class Supervisor<T extends RunningPart> {
  #current: T;
  #stopped = false;
  readonly #timer: NodeJS.Timeout;
  #restarting: Promise<void> | null = null;
  readonly #name: string;
  readonly #restart: () => Promise<T>;
  readonly #log: (line: string) => void;

  constructor(name: string, first: T, restart: () => Promise<T>, log: (line: string) => void) {
    this.#name = name;
    this.#current = first;
    this.#restart = restart;
    this.#log = log;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  get current(): T {
    return this.#current;
  }

  /** Ends the part; a restart under way is let finish first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#restarting;
    await this.#current.stop();
  }

  #look(): void {
    if (this.#stopped || this.#restarting !== null || isAlive(this.#current.process)) return;
    this.#restarting = this.#startAgain().finally(() => {
      this.#restarting = null;
    });
  }

  async #startAgain(): Promise<void> {
    this.#log(`${this.#name}: process ${this.#current.process.pid} has ended unasked; starting it again`);
    for (let pauseMs = 500; !this.#stopped; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        this.#current = await this.#restart();
        this.#log(`${this.#name}: running again (pid ${this.#current.process.pid})`);
        return;
      } catch (error) {
        this.#log(`${this.#name}: ${(error as Error).message}; next try in ${pauseMs} ms`);
        await sleep(pauseMs);
      }
    }
  }
}
