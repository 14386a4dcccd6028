/**
 * For tests of DAGs: a whole run in the test's own process.
 *
 * @example
 * import { runLocally } from "meridian/testing";
 */
export { connectionsFrom } from "./connection.ts";
export { runLocally } from "./local.ts";
export type { LocalOptions, LocalRun, LocalTask } from "./local.ts";
