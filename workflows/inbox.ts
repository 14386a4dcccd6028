import type { RunEvent } from "../core/progress.ts";

/**
 * What a run has not looked at yet. Whoever waits for it is woken by the push itself: `condition` would cost another
 * entry into the sandbox for each wake-up, and several promises.
 */
export class Inbox {
  #events: RunEvent[] = [];
  #wake: (() => void) | null = null;

  push(event: RunEvent): void {
    this.#events.push(event);
    this.wake();
  }

  /** There is something to look at, though it may not be here. */
  wake(): void {
    this.#wake?.();
    this.#wake = null;
  }

  /** Resolves when there is something, null when there is already; all that came in the same moment is there then. */
  filled(): Promise<void> | null {
    if (this.#events.length > 0) return null;
    return new Promise<void>((resolve) => (this.#wake = resolve));
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  take(): RunEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
