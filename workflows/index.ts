/** All workflow types of the bundle. */
import "./short-stacks.ts";
export { clock } from "./clock.ts";
export { dagRun } from "./dag-run.ts";
export { runPart } from "./run-part.ts";
