interface Entry<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * PostgreSQL refused what it was given (SQLSTATE classes 21 cardinality, 22 data, 23 constraint, 54 limits), and so has
 * done nothing of the statement.
 */
export function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^(?:21|22|23|54)[0-9A-Z]{3}$/.test(code);
}

/**
 * Callers batch themselves: while one call is under way, later ones wait together and share the next. So a busy
 * worker makes few round trips, and an idle one answers at once.
 */
export class Batcher<In, Out> {
  readonly #perform: (batch: readonly In[]) => Promise<readonly Out[]>;
  readonly #limit: number;
  readonly #keyOf: (item: In) => unknown;
  readonly #rest: (() => Promise<unknown>) | undefined;
  #waiting: Entry<In, Out>[] = [];
  #busy = false;

  /**
   * `perform` answers in the order of its batch. `limit`: items in one call at the most. `keyOf`: of items with the same
   * key in one call only the last is performed, and answers for all; default: each is its own. `rest`: waited for
   * after each call, so that in a burst fewer calls carry more; what comes alone does not wait.
   */
  constructor(
    perform: (batch: readonly In[]) => Promise<readonly Out[]>,
    limit: number,
    keyOf: (item: In) => unknown = (item) => item,
    rest?: () => Promise<unknown>,
  ) {
    this.#perform = perform;
    this.#limit = limit;
    this.#keyOf = keyOf;
    this.#rest = rest;
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
        const answers = await this.#answers(batch.map((entry) => entry.item));
        batch.forEach((entry, i) => entry.resolve(answers[i]!));
      } catch (error) {
        if (batch.length > 1 && isRefusal(error)) await this.#alone(batch);
        else for (const entry of batch) entry.reject(error);
      }
      await this.#rest?.();
    }
    this.#busy = false;
  }

  async #answers(items: readonly In[]): Promise<readonly Out[]> {
    const last = new Map(items.map((item) => [this.#keyOf(item), item]));
    if (last.size === items.length) return await this.#perform(items);
    const answers = await this.#perform([...last.values()]);
    const byKey = new Map([...last.keys()].map((key, i) => [key, answers[i]!]));
    return items.map((item) => byKey.get(this.#keyOf(item))!);
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
