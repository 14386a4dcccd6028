/** What the waits of a local run know of it, and it of them. */
import type { BodyContext } from "../core/body.ts";
import type { Interval } from "../core/calendar/plan.ts";
import type { AskedOfOutput } from "../core/decision.ts";
import type { SerialGraph } from "../core/graph.ts";
import type { AtTry } from "../core/progress.ts";
import type { WaitEnd } from "../core/waits.ts";
import type { Clock } from "./local-clock.ts";
import type { Limit, RunningTry } from "./local-try.ts";

/** When a try is to end, epoch ms: by its own time-out, and by that of what it waits for. Null: never. */
export interface Deadlines {
  readonly tryBy: number | null;
  readonly waitBy: number | null;
}

/** A try that has begun to wait. */
export interface Begun extends AtTry, Deadlines {
  /** `load[2]`, or `load`. */
  readonly name: string;
  /** Which of the waits of its try. */
  readonly wait: number;
}

/** What a local run does for its waits. */
export interface WaitHost {
  readonly graph: SerialGraph;
  readonly interval: Interval;
  readonly context: Pick<BodyContext, "runId" | "ds" | "conf">;
  readonly clock: Clock;
  /** What waits are ended with, by name of the instance or id of the task. */
  readonly events: Readonly<Record<string, unknown>>;
  /** How runs of other DAGs went, likewise. */
  readonly otherRuns: Readonly<Record<string, "success" | "failed">>;
  sleep(ms: number): Promise<void>;
  log(begun: Begun, text: string): void;
  askedOf(task: number): AskedOfOutput;
  /** The check of a sensor once more. */
  check(begun: Begun, limit: Limit | null): RunningTry;
  /** `output`: what the task gives, or the body goes on with. */
  ended(begun: Begun, end: WaitEnd, output: unknown): void;
}
