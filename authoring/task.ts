import { DefinitionError } from "../core/errors.ts";
import { registry } from "./registry.ts";
import { show } from "./show.ts";
import type { AnyParams, TaskOf } from "./types.ts";

/**
 * Defines a task of the DAG being built. Nothing runs now: the answer is a reference that carries the type of the
 * body's return value to whoever names it in `inputs`.
 *
 * @example
 * const rows = task("rows", async ({ ds }) => [{ day: ds, rain: 3 }]);
 * task("rain", { inputs: { rows }, retries: 2 }, ({ inputs }) => inputs.rows[0]?.rain ?? 0);
 */
export const task = ((id: unknown, ...rest: readonly unknown[]) => {
  const open = registry().open;
  if (open === undefined) {
    throw new DefinitionError(
      "task_outside_dag",
      `task ${show(id)} is outside of any DAG; call task() inside the function given to dag()`,
    );
  }
  return rest.length < 2 ? open.addTask(id, {}, rest[0]) : open.addTask(id, rest[0], rest[1]);
}) as TaskOf<AnyParams>;
