/** The options `setup` and `teardown` of a task, checked. */
import { DefinitionError } from "../core/errors.ts";
import type { DraftTask, TaskValues } from "./draft.ts";

/** Positions of the setups; null: it is no teardown. `taskOf`: the position of a task given in this place. */
export function readTeardown(
  values: TaskValues,
  tasks: readonly DraftTask[],
  where: string,
  taskOf: (ref: unknown, where: string, usage: string) => number,
): readonly number[] | null {
  const { teardown, setup, triggerRule } = values;
  if (teardown === null) return null;
  if (setup) {
    throw new DefinitionError(
      "bad_option",
      `${where}: it is a setup and a teardown; a task is one of them: make two tasks`,
    );
  }
  if (triggerRule !== "all_success" && triggerRule !== "all_done") {
    throw new DefinitionError(
      "bad_option",
      `${where}: option "triggerRule" is "${triggerRule}", and a teardown has a rule of its own: it runs once all before it has ended, if a setup of it succeeded; leave triggerRule out`,
    );
  }
  const setups = teardown === true ? [] : teardown;
  const positions = setups.map((ref) => {
    const at = `${where}: option "teardown"`;
    const position = taskOf(ref, at, "teardown: [rows]");
    const { id, options } = tasks[position]!;
    if (options.setup) return position;
    throw new DefinitionError("no_setup", `${at} names task "${id}", which is no setup; give it setup: true`);
  });
  return [...new Set(positions)].sort((a, b) => a - b);
}
