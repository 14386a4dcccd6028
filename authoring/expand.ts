/** What tasks and groups are mapped over: the options `expand`, `expandBy`, `batch`, `maxMapped` and `mapLabel`, checked. */
import { DefinitionError } from "../core/errors.ts";
import { compileMapLabel } from "../core/map-label.ts";
import { countOf } from "../core/mapping.ts";
import type { DraftMap } from "./draft.ts";
import { MAX_MAPPED, within } from "./options.ts";
import { checkInputName } from "./own-options.ts";
import { toOutput } from "./output.ts";
import { show } from "./show.ts";

/** A list written in a DAG file is part of its graph, which every run carries. */
const LARGEST_LIST_BYTES = 64 * 1024;

interface Values {
  readonly expand: Readonly<Record<string, unknown>>;
  readonly expandBy: DraftMap["how"];
  readonly batch: number | null;
  readonly maxMapped: number;
  readonly mapLabel: string;
}

/** Null: it is not mapped. `taskOf`: the position of a task given in this place. */
export function readMap(
  values: Values,
  group: number | null,
  where: string,
  taskOf: (ref: unknown, where: string, usage: string) => number,
): DraftMap | null {
  const names = Object.keys(values.expand);
  if (names.length === 0) {
    const alone = (["expandBy", "batch", "maxMapped", "mapLabel"] as const).find(
      (key) => values[key] !== UNMAPPED[key],
    );
    if (alone === undefined) return null;
    throw new DefinitionError(
      "not_mapped",
      `${where}: option "${alone}" needs lists to map over; add expand: { file: files }, or leave it out`,
    );
  }
  if (values.batch !== null && names.length > 1) {
    throw new DefinitionError(
      "bad_option",
      `${where}: option "batch" takes the items of one list, and expand has ${names.length}: ${names.join(", ")}; leave batch out, or map over one`,
    );
  }
  const over = names.map((name) => {
    checkInputName(name, where);
    const at = `${where}: list "${name}" of expand`;
    const given = values.expand[name];
    return [
      name,
      Array.isArray(given) ? constant(given, at) : taskOf(given, at, "expand: { rows }"),
    ] as const;
  });
  const map: DraftMap = {
    group,
    over: Object.fromEntries(over),
    ...(names.length > 1 && { names }),
    how: values.expandBy,
    batch: values.batch,
    max: values.maxMapped,
    ...(values.mapLabel !== "" && { label: values.mapLabel }),
  };
  if (values.mapLabel !== "")
    within(`${where}: option "mapLabel"`, () => compileMapLabel(values.mapLabel, names, ""));
  checkCount(map, where);
  return map;
}

const UNMAPPED = { expandBy: "product", batch: null, maxMapped: MAX_MAPPED, mapLabel: "" };

/** A copy of its own, with nothing in it that JSON would change. */
function constant(list: readonly unknown[], where: string): readonly unknown[] {
  const checked = toOutput(list, LARGEST_LIST_BYTES, "the list");
  if (checked.ok) return JSON.parse(checked.json) as unknown[];
  const { code, message } = checked.error;
  const text = message.replace(/^output /, "the list ");
  const instead = "a list written here may have 64 KiB as JSON: let a task return it";
  throw new DefinitionError(
    "bad_option",
    `${where}: ${code === "output_too_large" ? `${text.split(":")[0]!}; ${instead}` : text}`,
  );
}

/** Lists that are all written here give a number of instances that is known now. */
function checkCount(map: DraftMap, where: string): void {
  const lists = Object.entries(map.over);
  const known = lists.flatMap(([name, list]) =>
    typeof list === "number" ? [] : [[name, { items: list.length }] as const],
  );
  if (known.length < lists.length) return;
  const count = countOf(map, Object.fromEntries(known), (name) => `list "${name}"`);
  if (count.kind === "refused") throw new DefinitionError(count.code, `${where}: ${count.message}`);
}

/** A map inside a map has no single index: `around` is the mapped group, `what` is to be mapped inside it. */
export function nestedMap(where: string, around: string): DefinitionError {
  return new DefinitionError(
    "nested_map",
    `${where}: it is mapped by expand, and so is group "${around}" around it; only one of them can be: ` +
      "map the group over all combinations, or move this one out of it",
  );
}

export function foreignItem(where: string, ref: unknown, groupId: string): DefinitionError {
  return new DefinitionError(
    "foreign_item",
    `${where} is ${show(ref)}: an item of the mapped group "${groupId}"; only \`inputs\` of tasks inside that group take it`,
  );
}
