/** Types of what is mapped: lists in, items to the bodies, lists out. */
import type { GroupRef, ItemRef, MappedRef, TaskRef } from "./ref-types.ts";

/** Lists to map over, by name: outputs of tasks that are lists, or lists written here. */
export type Expand = Readonly<Record<string, TaskRef<readonly unknown[]> | readonly unknown[]>>;

/** What an instance gets of a list: one item, or with `batch` some. */
type ItemOf<L, B> = L extends TaskRef<infer T> ? Taken<T, B> : Taken<L, B>;
type Taken<L, B> = L extends readonly (infer X)[] ? (B extends number ? X[] : X) : never;

/** What a body finds under `inputs` of the lists that its task is mapped over. */
export type ItemValues<E, B> = { readonly [K in keyof E]: ItemOf<E[K], B> };

/** What the function of a mapped group gets. */
export type ItemRefs<E, B> = { readonly [K in keyof E]: ItemRef<ItemOf<E[K], B>> };

/** A task as the rest of the DAG sees it: mapped or not. */
export type RefOf<E, R> = [keyof E] extends [never] ? TaskRef<R> : MappedRef<R>;

/** What a group's function returned, as the rest of the DAG sees it. */
export type ReturnedOf<E, R> = [keyof E] extends [never] ? R : Listed<R>;

type Listed<R> =
  R extends TaskRef<infer T>
    ? MappedRef<T>
    : R extends GroupRef<infer Inner>
      ? GroupRef<Listed<Inner>>
      : R extends object
        ? { [K in keyof R]: Listed<R[K]> }
        : R;

/** Options of what may be mapped. `E`: its lists; `B`: how many items make a batch. */
export interface MapOptions<E extends Expand, B extends number | undefined> {
  /**
   * Run it once for each item of a list, which it gets under this name in `inputs`: the output of a task, or a list written
   * here. Of several lists: for each combination. Default none: it is not mapped.
   */
  readonly expand?: E | undefined;
  /** Several lists: `"product"`, each item of one with each of the others; `"zip"`, the first with the first. Default `"product"`. */
  readonly expandBy?: "product" | "zip" | undefined;
  /** So many items an instance, given as a list; the last may have fewer. Of one list only. Default: one item. */
  readonly batch?: B;
  /** More instances than this fail the task before any begins. Default 1024. */
  readonly maxMapped?: number | undefined;
  /**
   * What people read beside an instance's index: a text with `{{ … }}` over its item, by the list's name, and the run's dates,
   * such as `"{{ city.name }}"`. Labels address nothing, and two may be the same. Default empty: nothing.
   */
  readonly mapLabel?: string | undefined;
}
