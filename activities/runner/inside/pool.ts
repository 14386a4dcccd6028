import { CELL, TICK_MS, type FromHost, type FromPool, type ToPool, type Vitals } from "../messages.ts";
import { openThread, type Thread } from "./thread.ts";

/**
 * The process that holds the body threads. It decides nothing: it opens and ends threads as told, passes messages on
 * and looks at the threads' pulse. It can die with a body (some out-of-memory ends, a crash in native code, a signal)
 * without harm to the Temporal worker.
 */
class Pool {
  readonly #threads = new Map<number, Watched>();
  #outbox: FromPool[] = [];
  #lastLook = performance.now();

  take(message: ToPool): void {
    if (message.t === "open") this.#open(message.id, message.memoryMb);
    else if (message.t === "to") this.#threads.get(message.id)?.thread.post(message.message);
    else void this.#end(message.id);
  }

  look(): void {
    const now = performance.now();
    // A late look proves nothing about the threads.
    const late = Math.max(0, now - this.#lastLook - 2 * TICK_MS);
    this.#lastLook = now;
    for (const [id, watched] of this.#threads) {
      const vitals = watched.look(now, late);
      if (vitals !== null) this.#post({ t: "vitals", id, vitals });
    }
  }

  #open(id: number, memoryMb: number): void {
    const thread = openThread(`bodies-${id}`, memoryMb, {
      onMessage: (message) => this.#post({ t: "from", id, message }),
      onEnd: (why) => {
        // What it was doing at its end is known only from a last look.
        const vitals = this.#threads.get(id)?.look(performance.now(), 0) ?? null;
        if (vitals !== null) this.#post({ t: "vitals", id, vitals });
        this.#threads.delete(id);
        this.#post({ t: "ended", id, why });
      },
    });
    this.#threads.set(id, new Watched(thread));
  }

  async #end(id: number): Promise<void> {
    const ok = (await this.#threads.get(id)?.thread.end()) ?? true;
    this.#threads.delete(id);
    this.#post({ t: "stopped", id, ok });
  }

  #post(message: FromPool): void {
    this.#outbox.push(message);
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#outbox;
    this.#outbox = [];
    process.send?.(batch, undefined, {}, () => {
      for (const { t, id, ...rest } of batch)
        if (t === "from") this.#passedOn(id, (rest as { message: FromHost }).message);
    });
  }

  /** A thread that floods its log is held back until the text has left this process. */
  #passedOn(id: number, message: FromHost): void {
    const cells = this.#threads.get(id)?.thread.cells;
    if (message.t !== "lines" || cells === undefined) return;
    Atomics.add(cells, CELL.handled, message.size);
    Atomics.notify(cells, CELL.handled);
  }
}

/** A thread and what was last seen of it. */
class Watched {
  readonly thread: Thread;
  #ticks = 0;
  #tickAt = performance.now();
  #told = "";

  constructor(thread: Thread) {
    this.thread = thread;
  }

  /** Null when there is no news. */
  look(now: number, late: number): Vitals | null {
    const { cells } = this.thread;
    const ticks = Atomics.load(cells, CELL.ticks);
    if (ticks === this.#ticks) this.#tickAt = Math.min(now, this.#tickAt + late);
    else {
      this.#ticks = ticks;
      this.#tickAt = now;
    }
    // It has not begun to tick before its code is loaded.
    const silentMs = ticks === 0 || now - this.#tickAt < 2 * TICK_MS ? 0 : Math.round(now - this.#tickAt);
    const [taken, current, heapMb] = [CELL.taken, CELL.current, CELL.heapMb].map((cell) =>
      Atomics.load(cells, cell),
    );
    const vitals: Vitals = { silentMs, taken: taken!, current: current!, heapMb: heapMb! };
    const text = JSON.stringify(vitals);
    if (text === this.#told) return null;
    this.#told = text;
    return vitals;
  }
}

const pool = new Pool();
// The worker is gone, and whatever runs here will be run again elsewhere.
process.on("disconnect", () =>
  process.kill(process.platform === "win32" ? process.pid : -process.pid, "SIGKILL"),
);
process.on("message", (batch) => {
  for (const message of batch as ToPool[]) pool.take(message);
});
setInterval(() => pool.look(), TICK_MS);
