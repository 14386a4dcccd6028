import { AsyncLocalStorage } from "node:async_hooks";
import type { LogLine } from "../../../core/body.ts";

/** One try inside this thread: follows the body through every `await`, timer and callback. */
export interface Scope {
  readonly n: number;
  readonly controller: AbortController;
  readonly log: (level: LogLine["level"], text: string) => void;
  /** Made when the body first uses `console`, so that groups, counts and timers are its own. */
  console: Console | null;
  /** Writes what was written to stdout or stderr without a line end. */
  flush: (() => void) | null;
}

const storage = new AsyncLocalStorage<Scope>();

/** Tries running here now, by number. */
export const live = new Map<number, Scope>();

export const inScope = <T>(scope: Scope, act: () => T): T => storage.run(scope, act);

/** Listeners run as part of their try, not of the message that brought the abort. */
export function abort(scope: Scope, reason: Error): void {
  storage.run(scope, () => scope.controller.abort(reason));
}

/** The try that the running code belongs to, if that try has not ended. */
export function currentScope(): Scope | undefined {
  const scope = storage.getStore();
  return scope !== undefined && live.has(scope.n) ? scope : undefined;
}
