import { DefaultLogger, Runtime, type LogLevel } from "@temporalio/worker";
import type { Log } from "../platform/log.ts";

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
    // A failed run is the grid's news, not the worker's.
    WARN: (fields, message) =>
      message === "temporal: Workflow failed" ? log.debug(fields, message) : log.warn(fields, message),
    ERROR: (fields, message) => log.error(fields, message),
  };
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("INFO", ({ level, message, meta }) =>
      write[level](meta ?? {}, `temporal: ${message}`),
    ),
  });
}
