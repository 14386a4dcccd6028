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
export {
  branch,
  sensor,
  shortCircuit,
  switchOn,
  task,
  taskGroup,
  waitFor,
  waitForRun,
  waitUntil,
} from "./tools.ts";
export { defer } from "./defer.ts";
export type { WakeUp } from "./defer.ts";
export { fail, retryAfter, skip, waitAndRetry } from "./outcome.ts";
export type { GroupRef, ItemRef, MappedRef, TaskOrGroup, TaskRef } from "./ref-types.ts";
export type { Expand } from "./map-types.ts";
export type {
  BranchOf,
  DagTools,
  ShortCircuitOf,
  SwitchOnOf,
  SwitchOptions,
  Target,
  Targets,
} from "./tool-types.ts";
export type {
  AnyParams,
  CommonTaskOptions,
  DagOptions,
  DateInput,
  Duration,
  GroupOptions,
  Inputs,
  InputValues,
  Log,
  ParamsSchema,
  Rendered,
  Resumed,
  RetryRule,
  Schedule,
  TaskBody,
  TaskContext,
  TaskDefaults,
  TaskGroupOf,
  TaskOf,
  TaskOptions,
  Teardown,
  Template,
  Templates,
} from "./types.ts";
export type {
  SensorOf,
  SensorOptions,
  WaitForOf,
  WaitForOptions,
  WaitForRunOf,
  WaitForRunOptions,
  WaitUntilOf,
  WaitUntilOptions,
} from "./wait-types.ts";
export type { NotJson, Output } from "./output-type.ts";
export type { Dag, DagId, ParamsOf } from "./registry.ts";
export type { TriggerRule } from "../core/rules.ts";
