import { useMemo } from "react";
import type { DagDetail, Graph, RunDetail } from "../../../api/contracts.ts";
import { RUN_DONE } from "../../../core/states.ts";
import { useGrid, useRun } from "../api/queries.ts";
import { useVersion } from "../code/queries.ts";
import { TaskSearch } from "../dag/task-search.tsx";
import { RunPick } from "../graph/run-pick.tsx";
import type { DagView } from "../routing/route.ts";
import { useNow } from "../time/use-now.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { useRunWaits } from "../waits/queries.ts";
import { Chart } from "./chart.tsx";
import { rowsOf, spanOf, type Row } from "./rows.ts";
import "./gantt.css";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

/** When each try of a run waited and ran; of the run that is picked, else of the latest one. */
export function GanttView({ dag, view }: Props) {
  const { query: grid } = useGrid(dag.dagId, view.span, view.before);
  const runId = view.runId ?? grid.data?.columns.at(-1)?.run.runId ?? null;
  const run = useRun(dag.dagId, runId);
  return (
    <section className="gantt-view" aria-label="Gantt">
      <div className="grid-tools">
        <TaskSearch says="Filter tasks" value={view.tasks} />
        <RunPick dag={dag} view={view} none="the latest" />
        <span className="gap" />
        <span className="gantt-key soft small" aria-hidden="true">
          <span className="bar queued" /> waits
          <span className="bar ran tone-success" /> runs
          <span className="bar deferred tone-deferred" /> is deferred
        </span>
      </div>
      {grid.data !== undefined && runId === null ? (
        <Notice title="No runs yet">A run's bars appear here.</Notice>
      ) : (
        <Answer query={run} what="the run">
          {(data) => <RunChart dag={dag} run={data} view={view} />}
        </Answer>
      )}
    </section>
  );
}

const NO_GRAPH: Pick<Graph, "groups" | "tasks"> = { groups: [], tasks: [] };

function RunChart({
  dag,
  run,
  view,
}: {
  readonly dag: DagDetail;
  readonly run: RunDetail;
  readonly view: DagView;
}) {
  const other = run.version === dag.version ? null : run.version;
  const { data: old } = useVersion(dag.dagId, other);
  const graph = (other === null ? dag.graph : old?.graph) ?? dag.graph ?? NO_GRAPH;
  const { data: waits } = useRunWaits(dag.dagId, run.runId, RUN_DONE[run.state]);
  const rows = useMemo(
    () => rowsOf(graph, run.cells, view.folded, view.tasks.toLowerCase(), waits),
    [graph, run.cells, view.folded, view.tasks, waits],
  );
  if (rows.length === 0)
    return <Notice title="No task matches">{view.tasks === "" ? "" : "Change the filter."}</Notice>;
  return RUN_DONE[run.state] ? (
    <Chart run={run} rows={rows} view={view} now={0} span={spanOf(run, 0)} />
  ) : (
    <LiveChart run={run} rows={rows} view={view} />
  );
}

/** Apart, so that a chart of what is over is not drawn each second. */
function LiveChart({
  run,
  rows,
  view,
}: {
  readonly run: RunDetail;
  readonly rows: readonly Row[];
  readonly view: DagView;
}) {
  const now = useNow();
  return <Chart run={run} rows={rows} view={view} now={now} span={spanOf(run, now)} />;
}
