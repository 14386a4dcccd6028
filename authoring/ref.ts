/** Task references: inert values known by a marker, so that references of another copy of the library count too. */
import type { OpenDag } from "./registry.ts";
import type { TaskRef } from "./types.ts";

const REF = Symbol.for("meridian.task");

interface Target {
  readonly dag: OpenDag;
  readonly taskId: string;
}

interface Edges {
  before(later: readonly unknown[]): void;
  after(earlier: readonly unknown[]): void;
}

export function makeRef(dag: OpenDag, taskId: string, edges: Edges): TaskRef<unknown> {
  const ref: TaskRef<unknown> & { readonly [REF]: Target } = {
    id: taskId,
    dagId: dag.dagId,
    before: (...later) => {
      edges.before(later);
      return ref;
    },
    after: (...earlier) => {
      edges.after(earlier);
      return ref;
    },
    [REF]: { dag, taskId },
  };
  return Object.freeze(ref);
}

/** What a value refers to, or undefined when it is no task reference. */
export function refIn(value: unknown): Target | undefined {
  return typeof value === "object" && value !== null ? (value as { [REF]?: Target })[REF] : undefined;
}
