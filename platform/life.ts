import type { Log } from "./log.ts";

/** Things to be ended in the reverse order of their beginning; each gets its turn though another fails. */
export class Life {
  readonly #log: Log;
  readonly #ends: { name: string; end: () => Promise<unknown> | void }[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  onEnd(name: string, end: () => Promise<unknown> | void): void {
    this.#ends.push({ name, end });
  }

  async end(): Promise<void> {
    for (let item = this.#ends.pop(); item !== undefined; item = this.#ends.pop()) {
      try {
        this.#log.debug(`ending ${item.name}`);
        await item.end();
      } catch (error) {
        this.#log.error({ err: error }, `ending ${item.name} failed`);
      }
    }
  }
}

/** Resolves at SIGINT or SIGTERM. A second one ends the process at once. */
export async function untilKilled(onSignal: (signal: string) => void): Promise<void> {
  await new Promise<void>((resolve) => {
    let asked = false;
    const stop = (signal: string): void => {
      if (asked) process.exit(130);
      asked = true;
      onSignal(signal);
      resolve();
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });
}

/** A loop that runs `body` each `everyMs`, or sooner when poked; one at a time; errors are logged and it goes on. */
export class Loop {
  readonly #name: string;
  readonly #everyMs: number;
  readonly #body: () => Promise<unknown>;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #ended = false;

  constructor(name: string, everyMs: number, log: Log, body: () => Promise<unknown>) {
    this.#name = name;
    this.#everyMs = everyMs;
    this.#log = log;
    this.#body = body;
  }

  start(): void {
    this.poke();
  }

  /** Run soon; when it is running, once more after that. */
  poke(): void {
    if (this.#ended) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#run();
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#body();
      } catch (error) {
        this.#log.warn({ err: error }, `${this.#name} failed; it goes on`);
      }
    } while (this.#again && !this.#ended);
    this.#running = undefined;
    if (!this.#ended) this.#timer = setTimeout(() => this.poke(), this.#everyMs);
  }
}
