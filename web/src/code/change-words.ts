/** What changed between two versions of a graph, in words. Pure. */
import type { FieldChange, VersionDiff } from "../../../api/contracts.ts";
import { formatSetting } from "../time/format.ts";

export interface Say {
  readonly change: "added" | "removed" | "changed";
  /** `task load`, `load waits for extract`, `schedule` */
  readonly what: string;
  /** What was and what is; absent for what came or went. */
  readonly fields: readonly { readonly name: string; readonly before: string; readonly after: string }[];
}

export function sayChanges(diff: Pick<VersionDiff, "dag" | "groups" | "tasks" | "edges">): Say[] {
  const dag: Say[] =
    diff.dag.length === 0 ? [] : [{ change: "changed", what: "DAG", fields: diff.dag.map(sayField) }];
  const named = (kind: string, parts: VersionDiff["tasks"]): Say[] =>
    parts.map(({ id, change, fields }) => ({ change, what: `${kind} ${id}`, fields: fields.map(sayField) }));
  const edges = diff.edges.map(({ from, to, change, fields }): Say => ({
    change,
    what: change === "removed" ? `${to} no longer waits for ${from}` : `${to} waits for ${from}`,
    fields: fields.map(sayField),
  }));
  return [...dag, ...named("group", diff.groups), ...named("task", diff.tasks), ...edges];
}

function sayField({ field, before, after }: FieldChange): Say["fields"][number] {
  return { name: nameOf(field), before: valueOf(field, before), after: valueOf(field, after) };
}

/** `retryDelayMs` → `retry delay`; paths keep their dots. */
function nameOf(field: string): string {
  return field
    .replace(/Ms$/, "")
    .replaceAll(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
}

function valueOf(field: string, value: unknown): string {
  if (value === undefined) return "absent";
  if (value === null) return "none";
  if (value === "") return "empty";
  if (field.endsWith("Ms") && typeof value === "number") return formatSetting(value);
  if (Array.isArray(value) && value.every((one) => typeof one === "string"))
    return value.length === 0 ? "none" : value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
