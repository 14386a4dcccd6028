import type { Cell, DagDetail } from "../../../api/contracts.ts";
import { instanceName } from "../../../core/instance-name.ts";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { taskLabel } from "./names.tsx";

/** The task of a cell, as what the panel shows next. */
export function CellLink({
  dag,
  cell,
  view,
}: {
  readonly dag: DagDetail;
  readonly cell: Cell;
  readonly view: DagView;
}) {
  const mapIndex = cell.mapIndex < 0 ? null : cell.mapIndex;
  return (
    <Link
      to={dagPlace(dag.dagId, { ...view, taskId: cell.taskId, mapIndex, tryNumber: null })}
      title={cell.taskId}
    >
      {instanceName({ ...cell, taskId: taskLabel(dag.graph, cell.taskId) })}
    </Link>
  );
}
