/**
 * What `dag()`, `task()` and `collect()` share, kept on `globalThis` so that two copies of the library (one in the
 * worker, one beside the DAG file) agree. Only plain data and functions pass between copies, never classes.
 */
import type { SerialGraph } from "../core/graph.ts";
import type { ParamError } from "../core/params.ts";
import type { GroupRef, TaskRef } from "./ref-types.ts";
import type { AnyParams, TaskBody, TaskContext } from "./types.ts";

declare const PARAMS: unique symbol;

/**
 * A DAG as defined: what is stored, and the bodies that go with it. `Id` is its id as a literal, `Params` what a
 * trigger passes (before the schema's defaults and transforms).
 *
 * @example
 * const hello = dag("hello", { schedule: "@daily" }, () => { task("greet", () => "hello"); });
 * hello.graph.tasks.length; // 1
 */
export interface Dag<out Id extends string = string, out Params = unknown> {
  readonly id: Id;
  readonly graph: SerialGraph;
  /** Undefined: it has none. What runs a task: its context is made ready (`ready`), then the author's function is called. */
  bodyOf(taskId: string): TaskBody | undefined;
  /** The context as the task's body sees it: params read by the schema, templates rendered. */
  ready(taskId: string, context: TaskContext): TaskContext | Promise<TaskContext>;
  /** Of an instance of a mapped task: what people read beside its index; null: nothing. Throws when that cannot be rendered. */
  labelOf(taskId: string, context: TaskContext): string | null;
  /** What bodies see as `params` in a run with this conf; throws with each path and what was expected there. */
  readParams(conf: AnyParams): AnyParams | Promise<AnyParams>;
  /** What does not fit in what one of its waits is to be ended with; empty: it fits. */
  payloadErrors(taskId: string, payload: unknown): readonly ParamError[] | Promise<readonly ParamError[]>;
  /** Exists for the compiler only. */
  readonly [PARAMS]?: Params;
}

/** The id of a DAG, as a literal where `dag()` was given one. */
export type DagId<D> = D extends Dag<infer Id> ? Id : never;

/** What a trigger of the DAG passes: fields with a default may be missing. */
export type ParamsOf<D> = D extends Dag<string, infer Params> ? Params : never;

/** A DAG whose builder function is running now. */
export interface OpenDag {
  readonly dagId: string;
  addTask(id: unknown, options: unknown, body: unknown): TaskRef<unknown>;
  addBranch(id: unknown, options: unknown, body: unknown): TaskRef<unknown>;
  addSwitch(id: unknown, options: unknown, body: unknown): TaskRef<unknown>;
  addShortCircuit(id: unknown, options: unknown, body: unknown): TaskRef<unknown>;
  addSensor(id: unknown, options: unknown, check: unknown): TaskRef<unknown>;
  addEvent(id: unknown, options: unknown): TaskRef<unknown>;
  addUntil(id: unknown, options: unknown): TaskRef<unknown>;
  addOther(id: unknown, options: unknown): TaskRef<unknown>;
  addGroup(id: unknown, options: unknown, build: unknown): GroupRef<unknown>;
}

interface Registry {
  /** Where `dag()` puts what it makes; undefined when nobody collects. */
  collected: Map<string, Dag> | undefined;
  open: OpenDag | undefined;
  /** The end of the last collection: they go one after the other. */
  turn: Promise<void>;
}

const KEY = Symbol.for("meridian.collector");

export function registry(): Registry {
  const holder = globalThis as { [KEY]?: Registry };
  return (holder[KEY] ??= { collected: undefined, open: undefined, turn: Promise.resolve() });
}
