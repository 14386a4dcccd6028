/**
 * The library DAG authors import.
 *
 * @example
 * import { dag, task } from "meridian";
 */
// Ambient declarations cannot be imported; whoever imports this entry gets them by the reference.
// oxlint-disable-next-line typescript/triple-slash-reference
/// <reference path="./files.d.ts" preserve="true" />
export { dag } from "./dag.ts";
export { task } from "./task.ts";
export { taskGroup } from "./task-group.ts";
export { fail, skip } from "./outcome.ts";
export type {
  AnyParams,
  DagOptions,
  DagTools,
  DateInput,
  Duration,
  GroupOptions,
  GroupRef,
  Inputs,
  InputValues,
  Log,
  ParamsSchema,
  Rendered,
  Schedule,
  TaskOrGroup,
  TaskBody,
  TaskContext,
  TaskDefaults,
  TaskGroupOf,
  TaskOf,
  TaskOptions,
  TaskRef,
  Template,
  Templates,
} from "./types.ts";
export type { NotJson, Output } from "./output-type.ts";
export type { Dag, DagId, ParamsOf } from "./registry.ts";
export type { TriggerRule } from "../core/rules.ts";
