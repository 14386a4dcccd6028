/** References to tasks and groups: inert values known by a marker, so that those of another copy of the library count too. */
import type { OpenDag } from "./registry.ts";
import type { GroupRef, TaskRef } from "./ref-types.ts";

const REF = Symbol.for("meridian.task");

/** What a reference names: a position among the tasks or the groups of its DAG. */
export interface Node {
  readonly kind: "task" | "group";
  readonly position: number;
}

export interface Target {
  readonly dag: OpenDag;
  readonly id: string;
  readonly node: Node;
}

interface Edges {
  before(later: readonly unknown[]): void;
  after(earlier: readonly unknown[]): void;
}

/** `more`: what the reference carries beside its id and its ways to set order. */
export function makeRef(target: Target, edges: Edges, more: { readonly returned?: unknown } = {}): unknown {
  const ref: object = {
    id: target.id,
    dagId: target.dag.dagId,
    ...more,
    before: (...later: readonly unknown[]) => {
      edges.before(later);
      return ref;
    },
    after: (...earlier: readonly unknown[]) => {
      edges.after(earlier);
      return ref;
    },
    [REF]: target,
  };
  return Object.freeze(ref) as TaskRef<unknown> | GroupRef<unknown>;
}

/** What a value refers to, or undefined when it is no reference. */
export function refIn(value: unknown): Target | undefined {
  return typeof value === "object" && value !== null ? (value as { [REF]?: Target })[REF] : undefined;
}
