/** Labels of mapped instances: `load[berlin]`. People read them; nothing is addressed by them, and two may be the same. Pure. */
import { DefinitionError } from "./errors.ts";
import type { SerialGraph, SerialTask } from "./graph.ts";
import { namesOf, picked, picksOf, type SerialMap } from "./mapping.ts";
import { compileTemplate, type TemplateValues } from "./templates.ts";

/** A label is one for all tasks and tries of an instance, and is rendered outside of bodies too. */
const KNOWN = [
  "ds",
  "ds_nodash",
  "ts",
  "ts_nodash",
  "ts_nodash_with_tz",
  "logical_date",
  "data_interval_start",
  "data_interval_end",
  "dag_id",
  "dag.dag_id",
  "run_id",
  "dag_run.run_id",
  "map_index",
  "ti.map_index",
  "conf",
  "dag_run.conf",
];
const WHY = "a label is the same for all tasks and tries of an instance, and params are read by bodies";

/** Long enough for a path or a name, short enough for a row of a list. */
const LONGEST_LABEL = 100;
const TOO_LONG = new RegExp(`^(.{${LONGEST_LABEL - 1}}).{2}`, "su");

/** One line of at most `LONGEST_LABEL` characters; null when nothing is left of it. */
export function labelText(text: string): string | null {
  const line = text
    .slice(0, 100 * LONGEST_LABEL)
    .replaceAll(/\p{Cs}/gu, "\u{fffd}")
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim();
  if (line === "") return null;
  const cut = TOO_LONG.exec(line);
  return cut === null ? line : `${cut[1]}…`;
}

export type RenderLabel = (values: TemplateValues) => string | null;

/** Throws a DefinitionError on a name that no label knows. `reads`: the lists whose items it shows. */
export function compileMapLabel(
  text: string,
  lists: readonly string[],
  where = "mapLabel",
): { readonly render: RenderLabel; readonly reads: readonly string[] } {
  const reads = new Set<string>();
  const render = compileTemplate(
    text,
    {
      params: () => null,
      only: { names: KNOWN, why: WHY },
      items: { names: lists, onRead: (name) => reads.add(name) },
    },
    where,
  );
  return { render: (values) => labelText(String(render(values))), reads: [...reads] };
}

/** Where the label of a task's instances comes from. */
export interface TaskLabel {
  /** From the inputs of a try; null: it does not get all items that the label shows. */
  readonly ofInputs:
    | ((values: TemplateValues, inputs: Readonly<Record<string, unknown>>) => string | null)
    | null;
  /** From lists that all stand in the graph; null: they do not. */
  readonly ofGraph: RenderLabel | null;
  /** Tasks whose instances of the same index have the same label. */
  readonly sameAs: readonly string[];
}

/** By task id, of the tasks whose instances have labels. */
export function labelsOf({
  tasks,
  maps = [],
}: Pick<SerialGraph, "tasks" | "maps">): ReadonlyMap<string, TaskLabel> {
  const labels = new Map<string, TaskLabel>();
  maps.forEach((map, at) => {
    const compiled = compiledOf(map);
    if (compiled === null) return;
    const { render, reads } = compiled;
    const inside = tasks.filter((task) => task.map === at);
    const inputOf = new Map(inside.map((task) => [task.id, inputsFor(task, reads)]));
    const rendering = inside.filter(({ id, wait }) => inputOf.get(id) !== null && hasBody(wait));
    const ofGraph = fromGraph(map, render);
    for (const { id, wait } of inside) {
      const names = inputOf.get(id)!;
      labels.set(id, {
        ofInputs:
          names === null || !hasBody(wait)
            ? null
            : (values, inputs) =>
                render({
                  ...values,
                  items: Object.fromEntries(names.map(([list, input]) => [list, inputs[input]])),
                }),
        ofGraph,
        sameAs: rendering.filter((other) => other.id !== id).map((other) => other.id),
      });
    }
  });
  return labels;
}

/** Null: it has none. One that another release has taken, and this one does not know, is none either. */
function compiledOf(map: SerialMap): ReturnType<typeof compileMapLabel> | null {
  if (map.label === undefined) return null;
  try {
    return compileMapLabel(map.label, namesOf(map));
  } catch (error) {
    if (error instanceof DefinitionError) return null;
    throw error;
  }
}

const hasBody = (wait: SerialTask["wait"]): boolean => wait === undefined || wait.kind === "sensor";

/** The inputs that carry the items of these lists; null: one has none. */
function inputsFor({ items = {} }: SerialTask, lists: readonly string[]): [string, string][] | null {
  const found = lists.flatMap((list): [string, string][] => {
    const input = Object.keys(items).find((name) => items[name] === list);
    return input === undefined ? [] : [[list, input]];
  });
  return found.length === lists.length ? found : null;
}

function fromGraph(map: SerialMap, render: RenderLabel): RenderLabel | null {
  const names = namesOf(map);
  const lists = names.map((name) => map.over[name]!);
  if (lists.some((list) => typeof list === "number")) return null;
  const lengths = lists.map((list) => (list as readonly unknown[]).length);
  return (values) => {
    const picks = picksOf(map, lengths, values.mapIndex);
    const items = names.map((name) => [name, picked(map.over[name], picks[name])] as const);
    return render({ ...values, items: Object.fromEntries(items) });
  };
}
