/** Bodies that are told apart; the oldest is forgotten first. */
const KEPT = 10_000;

/** Where a body that may do harm runs next: on a thread alone, or in a process of its own. */
export type Quarantine = "alone" | "own";

/**
 * (Bundle, task) pairs that harmed the bodies beside them, or might have: each runs apart until it has shown that it
 * need not. So the innocent finish, and the guilty one harms only itself.
 */
export class Suspects {
  readonly #pairs = new Map<string, Quarantine>();

  add(pair: string, place: Quarantine): void {
    const before = this.#pairs.get(pair);
    this.#pairs.delete(pair);
    this.#pairs.set(pair, before === "own" ? before : place);
    if (this.#pairs.size <= KEPT) return;
    for (const oldest of this.#pairs.keys()) {
      this.#pairs.delete(oldest);
      return;
    }
  }

  placeOf(pair: string): Quarantine | undefined {
    return this.#pairs.get(pair);
  }

  clear(pair: string): void {
    this.#pairs.delete(pair);
  }
}
