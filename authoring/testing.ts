/**
 * For tests of DAGs: a whole run, one task or its templates, in the test's own process.
 *
 * @example
 * import { runDag } from "meridian/testing";
 */
export { connectionsFrom } from "./connection.ts";
export { runDag } from "./local.ts";
export { renderTask, runTask } from "./local-task.ts";
export type { LocalRun, LocalTask, RunOptions } from "./local.ts";
export type { LocalOptions } from "./local-context.ts";
export type { LocalTry, TaskRunOptions } from "./local-task.ts";
