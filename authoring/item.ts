/** Items of the lists that a group is mapped over: inert, known by a marker as tasks and groups are. */
import type { OpenDag } from "./registry.ts";
import type { ItemRef } from "./ref-types.ts";

const ITEM = Symbol.for("meridian.item");

export interface ItemTarget {
  readonly dag: OpenDag;
  readonly groupId: string;
  /** Position of the map. */
  readonly map: number;
  readonly list: string;
}

export function makeItem(target: ItemTarget): ItemRef<unknown> {
  return Object.freeze({ groupId: target.groupId, list: target.list, [ITEM]: target });
}

/** What a value refers to, or undefined when it is no item. */
export function itemIn(value: unknown): ItemTarget | undefined {
  return typeof value === "object" && value !== null ? (value as { [ITEM]?: ItemTarget })[ITEM] : undefined;
}
