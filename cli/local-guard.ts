/** What bodies do to the process they share with the command: held against the one that did it, as a worker does. */
import { currentTry } from "../authoring/local-try.ts";
import { stackText } from "../authoring/outcome.ts";
import { ownFrames } from "./dag-files.ts";

/** For what the bodies have begun and not awaited; then what they left open is closed with the process. */
const LEFT_OPEN_MS = 2_000;

const exit = process.exit.bind(process);
const show = (text: string): void => console.error(text);

/** Runs a command that calls code of DAG files in this process. */
export async function guarded(act: () => Promise<void>): Promise<void> {
  let isDone = false;
  guardExit(() => isDone);
  guardErrors();
  process.on("beforeExit", () => {
    if (isDone) return;
    show("error: a body waits for what can no more come: is there a promise that nobody resolves?");
    exit(1);
  });
  try {
    await act();
  } finally {
    isDone = true;
    endSoon();
  }
}

/** A test must not turn green because a body ended it. */
function guardExit(isDone: () => boolean): void {
  process.exit = (code?: number | string | null): never => {
    const scope = currentTry();
    // Ours, or the reader of a pipe has gone.
    if ((scope === undefined && isDone()) || process.stdout.errored !== null) exit(code);
    const call = `process.exit(${code ?? ""})`;
    if (scope === undefined) {
      show(`error: the DAG file called ${call} while it was imported; it may only define`);
      return exit(1);
    }
    const message = `the body called ${call}: return or throw instead`;
    scope.end({ kind: "failed", error: { code: "process_exit", message, retryable: true } });
    throw new Error(message);
  };
}

function guardErrors(): void {
  process.on("uncaughtException", (thrown: unknown) => {
    const stack = textOf(thrown);
    const scope = currentTry();
    if (scope === undefined) {
      show(`error: nobody caught ${stack}`);
      process.exitCode = 1;
      return;
    }
    const message = `uncaught outside the body's promise: ${stack.split("\n")[0]}`;
    scope.end({ kind: "failed", error: { code: "uncaught_exception", message, stack, retryable: true } });
  });
  process.on("unhandledRejection", (reason: unknown) => {
    const text = `unhandled rejection of a promise nobody waits for: ${textOf(reason)}`;
    const scope = currentTry();
    if (scope === undefined) show(text);
    else scope.log("error", text);
  });
}

/** The command has said all it has to say: a timer or a connection that a body left open does not hold it for ever. */
function endSoon(): void {
  setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
    show(`ended, though something is still open (${open}); close what a body opens`);
    exit();
  }, LEFT_OPEN_MS).unref();
}

function textOf(thrown: unknown): string {
  const stack = stackText(thrown);
  return ownFrames({ message: String(thrown), ...(stack === undefined ? {} : { stack }) });
}
