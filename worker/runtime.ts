import { DefaultLogger, Runtime, type LogLevel } from "@temporalio/worker";
import type { Log } from "../platform/log.ts";

/** A failed run is the grid's news, not the worker's; and only workers of the default queue have workflows. */
const EXPECTED: ReadonlySet<string> = new Set([
  "temporal: Workflow failed",
  "temporal: No workflows registered, not polling for workflow tasks",
]);

let installed = false;

/** The Temporal SDK's runtime: its log goes into ours, and signals are left to us (`untilKilled`). Once per process. */
export function installRuntime(log: Log): void {
  if (installed) return;
  installed = true;
  const write: Record<LogLevel, (fields: object, message: string) => void> = {
    TRACE: (fields, message) => log.trace(fields, message),
    DEBUG: (fields, message) => log.debug(fields, message),
    // The SDK's "info" is our "debug": each worker start says a dozen lines.
    INFO: (fields, message) => log.debug(fields, message),
    WARN: (fields, message) =>
      EXPECTED.has(message) ? log.debug(fields, message) : log.warn(fields, message),
    ERROR: (fields, message) => log.error(fields, message),
  };
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("INFO", ({ level, message, meta }) =>
      write[level](meta ?? {}, `temporal: ${message}`),
    ),
  });
}
