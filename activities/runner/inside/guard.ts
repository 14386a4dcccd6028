import { abort, currentScope, live, type Scope } from "./scope.ts";
import type { BodyHost } from "./body-host.ts";
import { tidyStack } from "./stack.ts";

/** What a body's stray code may do to the whole thread, turned against that body alone where its author is known. */
export function guard(host: BodyHost): void {
  const fail = (scope: Scope, code: string, message: string, stack?: string): void => {
    host.end(scope, {
      kind: "failed",
      error: { code, message, ...(stack === undefined ? {} : { stack }), retryable: true },
    });
    abort(scope, new Error(message));
  };

  const exit = process.exit.bind(process);
  process.exit = (code?: number | string | null): never => {
    const scope = currentScope();
    if (scope === undefined) return exit(code);
    const message = `the body called process.exit(${code ?? ""}): return or throw instead`;
    fail(scope, "process_exit", message);
    host.retire("a body called process.exit");
    throw new Error(message);
  };

  process.on("uncaughtException", (error: unknown) => {
    const scope = currentScope();
    const { message, stack } = describe(error);
    if (scope !== undefined)
      fail(scope, "uncaught_exception", `uncaught outside the body's promise: ${message}`, stack);
    else toAll(`uncaught exception of stray code in this thread: ${stack}`);
    host.retire(`uncaught exception: ${message}`);
  });

  process.on("unhandledRejection", (reason: unknown) => {
    const scope = currentScope();
    const text = `unhandled rejection of a promise nobody waits for: ${describe(reason).stack}`;
    if (scope !== undefined) scope.log("error", text);
    else toAll(text);
  });
}

function toAll(text: string): void {
  for (const scope of live.values()) scope.log("error", text);
}

/** Whatever was thrown may throw again when it is looked at. */
function describe(thrown: unknown): { message: string; stack: string } {
  try {
    if (!(thrown instanceof Error)) return { message: String(thrown), stack: String(thrown) };
    const message = String(thrown.message);
    return { message, stack: tidyStack(String(thrown.stack ?? message)) };
  } catch {
    return { message: "something that cannot be shown", stack: "something that cannot be shown" };
  }
}
