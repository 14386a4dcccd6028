import type { DagDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

export function GraphView({ dag, view }: Props) {
  return <section className="graph-view" aria-label="Graph" data-dag={dag.dagId} data-run={view.runId} />;
}
