/** Labels of mapped instances, on their way into the live records. */
import { MeridianError } from "../core/errors.ts";
import type { TaskLabel } from "../core/map-label.ts";
import type { TemplateValues } from "../core/templates.ts";
import type { TryKey } from "../db/runs.ts";
import type { NewWait } from "../db/waits.ts";
import type { TryRecords } from "./try-records.ts";

/** Of a try whose instance has a label: takes the one that its body's place renders; others take that of a task before them. */
export function labelling(
  records: TryRecords,
  key: TryKey,
  label: TaskLabel | undefined,
): { readonly onLabel?: (label: string) => void } {
  if (label === undefined) return {};
  if (label.ofInputs !== null) return { onLabel: (text) => records.labelled({ ...key, label: text }) };
  if (label.sameAs.length > 0) records.labelled({ ...key, label: null, same_as: label.sameAs });
  return {};
}

/** Of a wait without a body: from lists in the graph, or as a task before it has it. One that cannot be rendered is left out. */
export function labelOfWait(
  label: TaskLabel | undefined,
  values: TemplateValues,
): Pick<NewWait, "label" | "same_as"> {
  if (label === undefined) return {};
  const own = label.ofGraph === null ? null : rendered(label.ofGraph, values);
  if (own !== null) return { label: own };
  return label.sameAs.length === 0 ? {} : { same_as: label.sameAs };
}

function rendered(render: NonNullable<TaskLabel["ofGraph"]>, values: TemplateValues): string | null {
  try {
    return render(values);
  } catch (error) {
    if (error instanceof MeridianError) return null;
    throw error;
  }
}
