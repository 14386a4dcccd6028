/** Bodies that are told apart; the oldest is forgotten first. */
const KEPT = 10_000;

/** (Bundle, task) pairs that blocked a shared thread, or might have: each runs alone until it has shown that it need not. */
export class Suspects {
  readonly #pairs = new Set<string>();

  add(pair: string): void {
    this.#pairs.delete(pair);
    this.#pairs.add(pair);
    if (this.#pairs.size <= KEPT) return;
    for (const oldest of this.#pairs) {
      this.#pairs.delete(oldest);
      return;
    }
  }

  has(pair: string): boolean {
    return this.#pairs.has(pair);
  }

  clear(pair: string): void {
    this.#pairs.delete(pair);
  }
}
