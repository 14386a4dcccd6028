interface Entry<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out) => void;
  readonly reject: (error: unknown) => void;
}

/** PostgreSQL refused a value (SQLSTATE class 22), and so has done nothing of the statement. */
function isDataError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^22[0-9A-Z]{3}$/.test(code);
}

/**
 * Callers batch themselves: while one call is under way, later ones wait together and share the next. So a busy
 * worker makes few round trips, and an idle one answers at once.
 */
export class Batcher<In, Out> {
  readonly #perform: (batch: readonly In[]) => Promise<readonly Out[]>;
  readonly #limit: number;
  #waiting: Entry<In, Out>[] = [];
  #busy = false;

  /** `perform` answers in the order of its batch. `limit`: items in one call at the most. */
  constructor(perform: (batch: readonly In[]) => Promise<readonly Out[]>, limit: number) {
    this.#perform = perform;
    this.#limit = limit;
  }

  async add(item: In): Promise<Out> {
    return await new Promise<Out>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    // One turn of the microtask queue: what is asked for in the same moment goes together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#limit);
      try {
        const answers = await this.#perform(batch.map((entry) => entry.item));
        batch.forEach((entry, i) => entry.resolve(answers[i]!));
      } catch (error) {
        if (batch.length > 1 && isDataError(error)) await this.#alone(batch);
        else for (const entry of batch) entry.reject(error);
      }
    }
    this.#busy = false;
  }

  /** One bad item must not fail the others. */
  async #alone(batch: readonly Entry<In, Out>[]): Promise<void> {
    for (const entry of batch) {
      try {
        const [answer] = await this.#perform([entry.item]);
        entry.resolve(answer!);
      } catch (error) {
        entry.reject(error);
      }
    }
  }
}
