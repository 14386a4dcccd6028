/**
 * What `dag()`, `task()` and `collect()` share, kept on `globalThis` so that two copies of the library (one in the
 * worker, one beside the DAG file) agree. Only plain data and functions pass between copies, never classes.
 */
import type { SerialGraph } from "../core/graph.ts";
import type { TaskBody, TaskRef } from "./types.ts";

/**
 * A DAG as defined: what is stored, and the bodies that go with it.
 *
 * @example
 * const hello = dag("hello", { schedule: "@daily" }, () => { task("greet", () => "hello"); });
 * hello.graph.tasks.length; // 1
 */
export interface Dag {
  readonly graph: SerialGraph;
  bodyOf(taskId: string): TaskBody | undefined;
}

/** A DAG whose builder function is running now. */
export interface OpenDag {
  readonly dagId: string;
  addTask(id: unknown, options: unknown, body: unknown): TaskRef<unknown>;
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
