/** Tries of this worker that are asked to stop, or to give their slots back: looked for in the database while any runs. */
import type pg from "pg";
import { GiveBack } from "./runner/outcomes.ts";
import { forgetStops, stopsOf, tryName, type TryKey } from "../db/runs.ts";

/** A body hears of it within a second. */
const LOOK_MS = 500;

export class Stops {
  readonly #pool: pg.Pool;
  readonly #onError: (error: Error) => void;
  readonly #running = new Map<string, { readonly key: TryKey; readonly stop: AbortController }>();
  #isLooking = false;

  constructor(pool: pg.Pool, onError: (error: Error) => void) {
    this.#pool = pool;
    this.#onError = onError;
  }

  /** The signal of a try that begins, aborted by `signal` or by hand. `end` when it has ended. */
  watch(key: TryKey, signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } {
    const stop = new AbortController();
    const name = tryName(key);
    this.#running.set(name, { key, stop });
    if (!this.#isLooking) this.#lookLater();
    const end = (): void => {
      this.#running.delete(name);
      if (stop.signal.aborted) forgetStops(this.#pool, [key]).catch(this.#onError);
    };
    return { signal: AbortSignal.any([signal, stop.signal]), end };
  }

  #lookLater(): void {
    this.#isLooking = true;
    setTimeout(() => void this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    try {
      const runs = new Set([...this.#running.values()].map(({ key }) => key.run));
      for (const { give_back: why, ...key } of runs.size === 0 ? [] : await stopsOf(this.#pool, [...runs]))
        this.#running
          .get(tryName(key))
          ?.stop.abort(why === null ? new Error("stopped by hand") : new GiveBack(why));
    } catch (error) {
      this.#onError(error as Error);
    }
    this.#isLooking = false;
    if (this.#running.size > 0) this.#lookLater();
  }
}
