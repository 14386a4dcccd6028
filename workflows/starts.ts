import type { RunInfo } from "../activities/types.ts";
import type { RunPlan } from "../core/plan.ts";
import type { CarriedTry } from "./carried.ts";
import type { AtTry } from "../core/progress.ts";
import type { Inbox } from "./inbox.ts";
import type { Parts } from "./parts.ts";
import type { StartEffect, Tries } from "./tries.ts";
import type { Given } from "./try-activity.ts";
import { isTurnOverDue } from "./turn-over.ts";

/** Tries of a run in flight: Temporal refuses a workflow more than 2,000 activities. The others go to parts. */
const IN_FLIGHT = 1_000;

/** Tries that have their slots and have not begun. */
export class Starts {
  readonly #plan: RunPlan;
  readonly #info: RunInfo;
  readonly #tries: Tries;
  readonly #parts: Parts;
  readonly #givenOf: (at: StartEffect) => Given;
  readonly #waiting: StartEffect[] = [];

  constructor(plan: RunPlan, info: RunInfo, tries: Tries, parts: Parts, givenOf: (at: StartEffect) => Given) {
    this.#plan = plan;
    this.#info = info;
    this.#tries = tries;
    this.#parts = parts;
    this.#givenOf = givenOf;
  }

  get carried(): readonly CarriedTry[] {
    return this.#waiting.map(({ task, index, try: number }) => [task, index, number] as const);
  }

  goOn(starts: readonly CarriedTry[]): void {
    for (const [task, index, number] of starts) this.add({ kind: "start", task, index, try: number });
  }

  add(start: StartEffect): void {
    this.#waiting.push(start);
  }

  /** A part did not take them. */
  again(starts: readonly StartEffect[]): void {
    this.#waiting.unshift(...starts);
  }

  /** They begin as activities of this execution, or in parts while it may have no more of those. */
  begin(): void {
    const isTurning = isTurnOverDue(this.#info);
    if (!isTurning) this.#start(this.#waiting.splice(0, Math.max(0, IN_FLIGHT - this.#tries.inFlight)));
    if (this.#info.turnOverEvents === undefined) return;
    // About to turn over, the next execution begins them.
    const isAtTurn = isTurning && this.#tries.inFlight === 0;
    this.#parts.take(isAtTurn ? [] : this.#waiting, this.#givenOf);
  }

  /** True: it has not begun, and never will; its end goes into the inbox. */
  drop({ task, index, try: number }: AtTry, inbox: Inbox): boolean {
    const at = this.#waiting.findIndex(
      (one) => one.task === task && one.index === index && one.try === number,
    );
    if (at < 0) return false;
    this.#waiting.splice(at, 1);
    const outcome = { kind: "cancelled", message: "stopped before it began" } as const;
    inbox.push({ kind: "ended", task, index, try: number, outcome });
    return true;
  }

  /** Stops all bodies, but for those of teardowns; what was about to begin ends at once, as cancelled. */
  stop(): void {
    const starts = this.#waiting.splice(0);
    this.#start(starts.filter((at) => !this.#isTeardown(at)));
    this.#tries.stop();
    this.#parts.stop();
    this.#waiting.push(...starts.filter((at) => this.#isTeardown(at)));
  }

  #start(starts: readonly StartEffect[]): void {
    if (starts.length > 0) this.#tries.start(starts, this.#givenOf);
  }

  #isTeardown({ task }: StartEffect): boolean {
    return this.#plan.tasks[task]!.teardown !== undefined;
  }
}
