import type { DagDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

export function CodeView({ dag, view }: Props) {
  return <section className="code-view" aria-label="Code" data-dag={dag.dagId} data-run={view.runId} />;
}
