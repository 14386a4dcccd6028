/** One try of a body in this process: time-out, stop, log. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { BodyContext, BodyOutcome, LogLine } from "../core/body.ts";
import type { AskedOfOutput } from "../core/decision.ts";
import { makeContext } from "./context.ts";
import { outcomeOf, outcomeOfReturn } from "./outcome.ts";
import type { TaskBody } from "./types.ts";

/** Longer timers end at once in Node. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface LocalTry {
  readonly context: BodyContext;
  readonly body: TaskBody;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** What is to be told of the output beside itself. */
  readonly asked?: AskedOfOutput;
  /** When it is to end at the latest, and how it has ended then; null: there is no bound. */
  readonly limit: Limit | null;
  /** How long a body may still take after it was told to stop; then it is left behind. */
  readonly graceMs: number;
  readonly log: (level: LogLine["level"], text: string) => void;
  readonly connection: (name: string) => string;
}

export interface Limit {
  readonly ms: number;
  readonly outcome: Extract<BodyOutcome, { kind: "timed_out" }>;
}

export interface RunningTry {
  readonly outcome: Promise<BodyOutcome>;
  stop(reason: string): void;
}

/** The try that the running code is part of: its body, and all timers and callbacks of it. */
interface Scope {
  readonly log: LocalTry["log"];
  /** Ends it, whatever its body still does; false: it has ended. */
  readonly end: (outcome: BodyOutcome) => boolean;
}

const scopes = new AsyncLocalStorage<Scope>();

/** For whoever guards the process against what bodies do to it. */
export const currentTry = (): Scope | undefined => scopes.getStore();

export function startTry(given: LocalTry): RunningTry {
  const controller = new AbortController();
  let stopped: BodyOutcome | undefined;
  let giveUp = (_outcome: BodyOutcome): void => {};
  const leftBehind = new Promise<BodyOutcome>((resolve) => (giveUp = resolve));
  let grace: NodeJS.Timeout | undefined;

  const halt = (outcome: BodyOutcome, reason: string) => {
    if (stopped !== undefined) return;
    stopped = outcome;
    controller.abort(abortError(reason));
    grace = setTimeout(() => giveUp(outcome), given.graceMs);
  };
  const { limit } = given;
  const timer =
    limit === null
      ? undefined
      : setTimeout(
          () => halt(limit.outcome, limit.outcome.error.message),
          Math.min(Math.max(limit.ms, 1), LONGEST_TIMER_MS),
        );

  let isOver = false;
  const end = (outcome: BodyOutcome): boolean => {
    if (isOver) return false;
    halt(outcome, "message" in outcome ? outcome.message : "the try has ended");
    giveUp(outcome);
    return true;
  };
  // What the body does after it was told to stop no longer counts.
  const ended = scopes
    .run({ log: given.log, end }, () => callBody(given, controller.signal))
    .then((outcome) => stopped ?? outcome);
  const outcome = Promise.race([ended, leftBehind]).finally(() => {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(grace);
  });
  return { outcome, stop: (reason) => halt({ kind: "cancelled", message: reason }, reason) };
}

async function callBody(given: LocalTry, signal: AbortSignal): Promise<BodyOutcome> {
  try {
    const { log, connection } = given;
    return outcomeOfReturn(
      await given.body(makeContext(given.context, given.inputs, { log, signal, connection })),
      given.asked,
    );
  } catch (thrown) {
    return outcomeOf(thrown);
  }
}

function abortError(reason: string): Error {
  const error = new Error(reason);
  error.name = "AbortError";
  return error;
}
