/**
 * Callers batch themselves: while one call is under way, later ones wait together and share the next. So a busy
 * worker makes few round trips, and an idle one answers at once.
 */
export class Batcher<In, Out> {
  readonly #perform: (batch: readonly In[]) => Promise<readonly Out[]>;
  readonly #limit: number;
  #waiting: { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }[] = [];
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
        for (const entry of batch) entry.reject(error);
      }
    }
    this.#busy = false;
  }
}
