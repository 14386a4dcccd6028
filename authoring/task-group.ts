import { DefinitionError } from "../core/errors.ts";
import { registry } from "./registry.ts";
import { show } from "./show.ts";
import type { TaskGroupOf } from "./types.ts";

/**
 * Defines a group: the tasks and groups that `build` defines are shown as one, their ids begin with the group's. It may
 * be named in `after`, `.before()` and `.after()` like a task.
 *
 * @example
 * const load = taskGroup("load", { label: "Load the shops" }, () => {
 *   const rows = task("rows", () => [1, 2]); // its id is "load.rows"
 *   return { rows };
 * });
 * task("report", { inputs: { rows: load.returned.rows } }, ({ inputs }) => inputs.rows.length);
 */
export const taskGroup = ((id: unknown, ...rest: readonly unknown[]) => {
  const open = registry().open;
  if (open === undefined) {
    throw new DefinitionError(
      "task_outside_dag",
      `task group ${show(id)} is outside of any DAG; call taskGroup() inside the function given to dag()`,
    );
  }
  return rest.length < 2 ? open.addGroup(id, {}, rest[0]) : open.addGroup(id, rest[0], rest[1]);
}) as TaskGroupOf;
