/** References to tasks, groups and items, as authors see them: inert, and typed by what they stand for. */

declare const OUTPUT: unique symbol;
declare const GROUP: unique symbol;
declare const MAPPED: unique symbol;
declare const ITEM: unique symbol;

/** What `before` and `after` take: tasks and groups. */
export type TaskOrGroup = TaskRef<unknown> | GroupRef<unknown>;

/**
 * A task as others refer to it: inert, and typed by what its body returns. Pass it in `inputs` to read its output,
 * in `after` (or to `.before`/`.after`) to order without reading.
 *
 * @example
 * const rows = task("rows", async () => [1, 2, 3]); // TaskRef<number[]>
 * task("clean_up", () => {}).after(rows);
 */
export interface TaskRef<out T> {
  readonly id: string;
  readonly dagId: string;
  /** These wait for this task; of a group, the tasks it begins with. Returns this task. */
  readonly before: (...later: readonly TaskOrGroup[]) => TaskRef<T>;
  /** This task waits for these; of a group, for the tasks it ends with. Returns this task. */
  readonly after: (...earlier: readonly TaskOrGroup[]) => TaskRef<T>;
  /** These exist for the compiler only: its output, and that it is no group. */
  readonly [OUTPUT]?: T;
  readonly [GROUP]?: never;
}

/**
 * A group of tasks as others refer to it. Order before it is order before the tasks it begins with, order after it is
 * order after those it ends with.
 *
 * @example
 * const load = taskGroup("load", () => ({ rows: task("rows", () => [1, 2]) })); // task "load.rows"
 * task("sum", { inputs: { rows: load.returned.rows } }, ({ inputs }) => inputs.rows.length);
 * task("clean_up", () => {}).after(load);
 */
export interface GroupRef<out R> {
  /** With the ids of the groups around it: `"load.files"`. */
  readonly id: string;
  readonly dagId: string;
  /** What the group's function returned: the way out for references that are made inside. */
  readonly returned: R;
  /** These wait for all of the group. Returns this group. */
  readonly before: (...later: readonly TaskOrGroup[]) => GroupRef<R>;
  /** All of the group waits for these. Returns this group. */
  readonly after: (...earlier: readonly TaskOrGroup[]) => GroupRef<R>;
  /** Exists for the compiler only. */
  readonly [GROUP]?: true;
}

/**
 * A mapped task: its output is the list of what its instances returned, in the order of their indexes, without those that
 * were skipped or failed. Under every trigger rule there is such a list; it may be empty.
 *
 * @example
 * const loads = task("load", { expand: { file: files } }, ({ inputs }) => inputs.file.length); // MappedRef<number>
 * task("sum", { inputs: { loads } }, ({ inputs }) => inputs.loads.reduce((a, b) => a + b, 0));
 */
export interface MappedRef<out T> extends TaskRef<T[]> {
  /** These wait for all instances. Returns this task. */
  readonly before: (...later: readonly TaskOrGroup[]) => MappedRef<T>;
  /** Each instance waits for these. Returns this task. */
  readonly after: (...earlier: readonly TaskOrGroup[]) => MappedRef<T>;
  /** Exists for the compiler only. */
  readonly [MAPPED]: T;
}

/**
 * An item of a list that a group is mapped over, as tasks inside the group name it in `inputs`.
 *
 * @example
 * taskGroup("per_file", { expand: { file: files } }, ({ file }) => {
 *   task("load", { inputs: { file } }, ({ inputs }) => inputs.file.length);
 * });
 */
export interface ItemRef<out T> {
  readonly groupId: string;
  /** Name of the list in the group's `expand`. */
  readonly list: string;
  /** Exists for the compiler only. */
  readonly [ITEM]?: T;
}
