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

  /**
   * Those of the execution before, all by one timer at a time: a timer each would make the new history long at once, and the
   * run turn over again before it has done anything. `within`: of an event, its scope.
   */
  goOn(
    carried: CarriedDelays,
    isApart: (event: RunEvent) => boolean,
    within: (event: RunEvent, work: () => Promise<void>) => Promise<void>,
  ): void {
    const delays = delaysIn(carried).sort((a, b) => a.dueAt - b.dueAt);
    for (const delay of delays) this.#waiting.add(delay);
    this.#inTurn(
      delays.filter(({ event }) => !isApart(event)),
      within,
    );
    this.#inTurn(
      delays.filter(({ event }) => isApart(event)),
      within,
    );
  }

  /** All in one scope, the earliest first. */
  #inTurn(
    delays: readonly Delay[],
    within: (event: RunEvent, work: () => Promise<void>) => Promise<void>,
  ): void {
    const [first] = delays;
    if (first === undefined) return;
    within(first.event, () => sleep(Math.max(1, first.dueAt - now()))).then(
      () => {
        const due = delays.filter(({ dueAt }) => dueAt <= now());
        for (const delay of due) {
          this.#waiting.delete(delay);
          this.#push(delay.event);
        }
        this.#inTurn(delays.slice(due.length), within);
      },
      () => {
        for (const delay of delays) this.#waiting.delete(delay);
      },
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

function delaysIn({ retries, others }: CarriedDelays): Delay[] {
  const due = retries.map(([task, index, number, dueAt]): Delay => ({
    dueAt,
    event: { kind: "due", task, index, try: number },
  }));
  return [...due, ...others];
}
