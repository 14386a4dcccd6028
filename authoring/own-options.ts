/** Options of one DAG, group or task: its own over the defaults around it. */
import { DefinitionError } from "../core/errors.ts";
import type { TaskValues } from "./draft.ts";
import {
  DAG_OPTIONS,
  GROUP_OPTIONS,
  readOptions,
  SWITCH_OPTIONS,
  TASK_OPTIONS,
  type Values,
} from "./options.ts";
import { toOutput } from "./output.ts";

type Given = Readonly<Record<string, unknown>>;

export function readDagOptions(options: unknown, where: string): Values<typeof DAG_OPTIONS> {
  return readOptions(DAG_OPTIONS, options, where);
}

export function readGroupOptions(options: unknown, where: string): Values<typeof GROUP_OPTIONS> {
  return readOptions(GROUP_OPTIONS, options, where);
}

export function readTaskOptions(options: unknown, defaults: Given, where: string): TaskValues {
  return readOptions(TASK_OPTIONS, overDefaults(options, defaults), where);
}

export function readSwitchOptions(
  options: unknown,
  defaults: Given,
  where: string,
): Values<typeof SWITCH_OPTIONS> {
  return readOptions(SWITCH_OPTIONS, overDefaults(options, defaults), where);
}

/** An undefined option counts as not given. */
export function definedOnly(options: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** An option that is not given has the default around it. */
export function overDefaults(options: unknown, defaults: Given): unknown {
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  return isObject ? { ...defaults, ...definedOnly(options) } : options;
}

/** It names where an object comes from, and would be no input of the body. The database takes what `toOutput` takes. */
export function checkInputName(name: string, where: string): void {
  const checked = toOutput(name, undefined, `the name of input ${JSON.stringify(name)}`);
  if (!checked.ok) throw new DefinitionError("bad_option", `${where}: ${checked.error.message}`);
  if (name !== "__proto__") return;
  throw new DefinitionError(
    "bad_option",
    `${where}: input "__proto__" cannot be called so; give it another name`,
  );
}
