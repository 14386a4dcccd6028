/** What the tasks of a local run wait for: checks go on beside the run, without a slot, and the rest ends at once. */
import type { BodyError, BodyOutcome } from "../core/body.ts";
import type { SerialTask } from "../core/graph.ts";
import { WAIT_TIMEOUT } from "../core/waking.ts";
import type { Deferral, WaitEnd } from "../core/waits.ts";
import type { Limit } from "./local-try.ts";
import type { Begun, Deadlines, WaitHost } from "./local-wait-types.ts";
import { givenTo, notGiven, WITHOUT_BODY } from "./local-without-body.ts";

/** Real time: a local run is not the place to wait for what does not come. */
const PATIENCE_MS = 60_000;

const givenUp = ({ name }: Begun): WaitEnd => ({
  kind: "failed",
  error: {
    code: "not_there",
    message: `sensor "${name}" has said no for a minute, and a local run asks no longer: make there what it looks for, or test what comes after it with runTask()`,
    retryable: false,
  },
});

export class LocalWaits {
  readonly #host: WaitHost;
  readonly #open = new Map<string, AbortController>();

  constructor(host: WaitHost) {
    this.#host = host;
  }

  /** `deferral`: of a body; null: the task waits without one. */
  begin(begun: Begun, deferral: Deferral | null): void {
    const { wait } = this.#host.graph.tasks[begun.task]!;
    if (deferral?.on === "poke" && wait?.kind === "sensor") void this.#poke(begun, wait.everyMs);
    else if (deferral?.on === "time") void this.#untilTime(begun, deferral.at, deferral.state);
    else if (deferral?.on === "event") this.#event(begun, deferral.state);
    else if (wait !== undefined) WITHOUT_BODY[wait.kind](this.#host, begun, wait as never);
  }

  /** The try no longer waits. */
  stop(name: string): void {
    this.#open.get(name)?.abort();
    this.#open.delete(name);
  }

  async #poke(begun: Begun, everyMs: number): Promise<void> {
    const host = this.#host;
    const { signal } = this.#opened(begun);
    host.log(begun, `not yet: it is asked again, at most a second later, and given up after a minute`);
    const began = performance.now();
    for (;;) {
      const limit = limitOf(host.graph.tasks[begun.task]!, begun, host.clock());
      await host.sleep(Math.max(0, Math.min(everyMs, limit?.ms ?? Infinity)));
      if (signal.aborted) return;
      const left = limitOf(host.graph.tasks[begun.task]!, begun, host.clock());
      if (left !== null && left.ms <= 0) return host.ended(begun, endBy(left), undefined);
      if (performance.now() - began > PATIENCE_MS) return host.ended(begun, givenUp(begun), undefined);
      const running = host.check(begun, left);
      const stop = (): void => running.stop("the local run was cancelled");
      signal.addEventListener("abort", stop, { once: true });
      const outcome = await running.outcome;
      signal.removeEventListener("abort", stop);
      if (signal.aborted) return;
      const end = endOfCheck(outcome);
      if (end !== null)
        return host.ended(begun, end, outcome.kind === "success" ? outcome.output : undefined);
    }
  }

  async #untilTime(begun: Begun, at: number, state: unknown): Promise<void> {
    const host = this.#host;
    const { signal } = this.#opened(begun);
    const now = host.clock();
    const limit = limitOf(host.graph.tasks[begun.task]!, begun, now);
    const isLate = limit !== null && limit.ms <= at - now;
    await host.sleep(Math.max(0, isLate ? limit.ms : at - now));
    if (signal.aborted) return;
    if (isLate) host.ended(begun, endBy(limit), undefined);
    else this.#resume(begun, null, state);
  }

  #event(begun: Begun, state: unknown): void {
    const given = givenTo(this.#host, begun);
    if (given === null) this.#host.ended(begun, notGiven(this.#host, begun), undefined);
    else this.#resume(begun, given.value, state);
  }

  #resume(begun: Begun, payload: unknown, state: unknown): void {
    const resumed = { payload, ...(state !== undefined && { state }) };
    this.#host.ended(begun, { kind: "resume" }, resumed);
  }

  #opened({ name }: Begun): AbortController {
    const controller = new AbortController();
    this.#open.set(name, controller);
    return controller;
  }
}

/** By which of its deadlines a try ends, and how; null: by none. */
export function limitOf(
  { executionTimeoutMs, wait }: SerialTask,
  { tryBy, waitBy }: Deadlines,
  now: number,
): Limit | null {
  if (waitBy !== null && waitBy <= (tryBy ?? Infinity)) {
    const timeoutMs = (wait as { timeoutMs?: number | null } | undefined)?.timeoutMs;
    const message = `what it waits for did not come within its timeout of ${timeoutMs} ms`;
    const error = { code: WAIT_TIMEOUT, message, retryable: false };
    return { ms: waitBy - now, outcome: { kind: "timed_out", error } };
  }
  if (tryBy === null) return null;
  const message = `the try took longer than its executionTimeout of ${executionTimeoutMs} ms and was stopped`;
  const error = { code: "execution_timeout", message, retryable: true };
  return { ms: tryBy - now, outcome: { kind: "timed_out", error } };
}

const endBy = ({ outcome }: Limit): WaitEnd => timedOut(outcome.error);

const timedOut = ({ code, message }: BodyError): WaitEnd =>
  code === WAIT_TIMEOUT ? { kind: "expired", message } : { kind: "timed_out", message };

/** Null: not yet, or nobody wants to know. */
function endOfCheck(outcome: BodyOutcome): WaitEnd | null {
  switch (outcome.kind) {
    case "success":
      return { kind: "success", ...(outcome.measured !== undefined && { measured: outcome.measured }) };
    case "skipped":
      return { kind: "skipped", message: outcome.message };
    case "failed":
      return { kind: "failed", error: outcome.error };
    case "timed_out":
      return timedOut(outcome.error);
    default:
      return null;
  }
}
