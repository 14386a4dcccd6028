/**
 * The library DAG authors import.
 *
 * @example
 * import { dag, task } from "meridian";
 */
// Ambient declarations cannot be imported; whoever imports this entry gets them by the reference.
// oxlint-disable-next-line typescript/triple-slash-reference
/// <reference path="./files.d.ts" />
export { dag } from "./dag.ts";
export { task } from "./task.ts";
export { fail, skip } from "./outcome.ts";
export type {
  DagOptions,
  DateInput,
  Duration,
  Inputs,
  InputValues,
  Log,
  Output,
  Schedule,
  TaskBody,
  TaskContext,
  TaskDefaults,
  TaskOptions,
  TaskRef,
} from "./types.ts";
export type { Dag } from "./registry.ts";
export type { TriggerRule } from "../core/rules.ts";
