import type { DagDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

export function GanttView({ dag, view }: Props) {
  return <section className="gantt-view" aria-label="Gantt" data-dag={dag.dagId} data-run={view.runId} />;
}
