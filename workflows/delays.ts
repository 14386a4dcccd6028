import { sleep } from "@temporalio/workflow";
import type { RunEvent } from "../core/progress.ts";
import { now } from "./now.ts";

/** What still waits for its time, epoch ms: retries as task, index, try, and other events. Plain JSON. */
export interface CarriedDelays {
  readonly retries: readonly (readonly [task: number, index: number, number: number, dueAt: number])[];
  readonly others: readonly { readonly dueAt: number; readonly event: RunEvent }[];
}

interface Delay {
  readonly dueAt: number;
  readonly event: RunEvent;
}

/** What happens to a run after a while: each is pushed into its inbox when it is due. */
export class Delays {
  readonly #push: (event: RunEvent) => void;
  readonly #waiting = new Set<Delay>();

  constructor(push: (event: RunEvent) => void) {
    this.#push = push;
  }

  get any(): boolean {
    return this.#waiting.size > 0;
  }

  /** `within`: its scope, whose cancel forgets it. */
  begin(delayMs: number, event: RunEvent, within: (work: () => Promise<void>) => Promise<void>): void {
    const delay = { dueAt: now() + delayMs, event };
    this.#waiting.add(delay);
    within(() => sleep(delayMs)).then(
      () => {
        this.#waiting.delete(delay);
        this.#push(event);
      },
      () => this.#waiting.delete(delay),
    );
  }

  /** For the run's next execution. */
  get carried(): CarriedDelays {
    const retries: CarriedDelays["retries"][number][] = [];
    const others: Delay[] = [];
    for (const { dueAt, event } of this.#waiting) {
      if (event.kind === "due") retries.push([event.task, event.index, event.try, dueAt]);
      else others.push({ dueAt, event });
    }
    return { retries, others };
  }
}

/** Delays that were carried over, each with what is left of it. */
export function* restOf({ retries, others }: CarriedDelays): Generator<{ delayMs: number; event: RunEvent }> {
  const left = (dueAt: number): number => Math.max(0, dueAt - now());
  for (const [task, index, number, dueAt] of retries)
    yield { delayMs: left(dueAt), event: { kind: "due", task, index, try: number } };
  for (const { dueAt, event } of others) yield { delayMs: left(dueAt), event };
}
