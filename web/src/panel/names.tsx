/** What tasks and groups are called: the label an author gave, with the id beside it, or the id. */
import type { Graph } from "../../../api/contracts.ts";
import { instanceName } from "../../../core/instance-name.ts";

/** Short, for lists and links. */
export const taskLabel = (graph: Graph | null, taskId: string): string =>
  graph?.tasks.find((task) => task.id === taskId)?.label || taskId;

interface Props {
  readonly id: string;
  readonly label: string | undefined;
  /** null: not mapped. */
  readonly mapIndex?: number | null;
  readonly mapLabel?: string | undefined;
}

/** For headings. */
export function Named({ id, label = "", mapIndex = null, mapLabel }: Props) {
  const index = instanceName({ taskId: "", mapIndex: mapIndex ?? -1, mapLabel });
  if (label === "" || label === id) return `${id}${index}`;
  return (
    <>
      {label}
      {index} <code className="soft small">{id}</code>
    </>
  );
}
