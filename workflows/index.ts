/** All workflow types of the bundle. */
export { clock } from "./clock.ts";
export { dagRun } from "./dag-run.ts";
