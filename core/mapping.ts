/** Mapped tasks: how many instances lists give, and which of their items each instance gets. Pure. */

/** Lists that tasks are mapped over, by name. */
export interface SerialMap {
  /** The group that is mapped as a whole, or null: one task is. */
  readonly group: number | null;
  /** Position of the task whose output is the list, or the list itself. */
  readonly over: Readonly<Record<string, number | readonly unknown[]>>;
  /** Names of several lists in the order of the DAG file: the database does not keep that of keys. Left out: there is one. */
  readonly names?: readonly string[];
  /** Several lists: each item of the one with each of the others, or the first with the first. */
  readonly how: "product" | "zip";
  /** So many items of the list an instance; null: one, and not as a list. */
  readonly batch: number | null;
  /** More instances than this are refused. */
  readonly max: number;
  /** Template of what people read beside an instance's index; left out: nothing. */
  readonly label?: string;
}

/** What is known of an output that tasks are mapped over: its items, or what it is instead of a list. */
export type Measured = { readonly items: number } | { readonly not: string };

export type MapCount =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

/** How long each list is, by name; from it how many instances there are. `where`: such as `list "files" (the output of task "scan")`. */
export function countOf(
  map: SerialMap,
  lists: Readonly<Record<string, Measured>>,
  where: (name: string) => string,
): MapCount {
  const lengths: number[] = [];
  for (const [name, list] of Object.entries(lists)) {
    if ("not" in list) {
      const message = `${where(name)} is ${list.not}; expected a list, one item for each instance`;
      return { kind: "refused", code: "not_a_list", message };
    }
    lengths.push(list.items);
  }
  if (map.how === "zip" && new Set(lengths).size > 1) {
    const sizes = Object.entries(lists).map(
      ([name, list]) => `${where(name)} has ${"items" in list ? list.items : 0}`,
    );
    const message = `lists that are zipped have different lengths: ${sizes.join(", ")}; expected the same`;
    return { kind: "refused", code: "zip_lengths", message };
  }
  const items = map.how === "zip" ? lengths[0]! : lengths.reduce((all, one) => all * one, 1);
  const count = map.batch === null ? items : Math.ceil(items / map.batch);
  if (count <= map.max) return { kind: "count", count };
  const names = Object.keys(lists).map(where).join(" and ");
  const instances = map.batch === null ? "" : ` in batches of ${map.batch}`;
  const message = `${names} would give ${count} instances${instances}, and at most ${map.max} are allowed: raise maxMapped, or map in batches`;
  return { kind: "refused", code: "too_many_instances", message };
}

export const namesOf = (map: SerialMap): readonly string[] => map.names ?? Object.keys(map.over);

/** Which items of a list an instance gets: from the first one on; `count` null: one, not as a list. */
export interface Pick {
  readonly from: number;
  readonly count: number | null;
}

/** The items that instance `index` gets, by name. `lengths`: of all lists, in the order of `namesOf`. */
export function picksOf(
  map: SerialMap,
  lengths: readonly number[],
  index: number,
): Readonly<Record<string, Pick>> {
  const names = namesOf(map);
  if (map.batch !== null) {
    const from = index * map.batch;
    return { [names[0]!]: { from, count: Math.min(map.batch, lengths[0]! - from) } };
  }
  const picks: Record<string, Pick> = {};
  let rest = index;
  // The last list turns fastest, as in nested loops.
  for (let at = names.length - 1; at >= 0; at--) {
    const length = lengths[at]!;
    picks[names[at]!] = { from: map.how === "zip" ? index : rest % length, count: null };
    rest = Math.floor(rest / length);
  }
  return picks;
}

/** What is wanted of a list; all of it when nothing is said. */
export function picked(list: unknown, pick: Pick | undefined): unknown {
  if (pick === undefined) return list;
  const items = list as readonly unknown[];
  return pick.count === null ? items[pick.from] : items.slice(pick.from, pick.from + pick.count);
}
