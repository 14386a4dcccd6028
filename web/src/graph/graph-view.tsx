import { useMemo } from "react";
import type { Cell, DagDetail, Graph } from "../../../api/contracts.ts";
import { useGrid, useRun } from "../api/queries.ts";
import { useVersion } from "../code/queries.ts";
import { TaskSearch } from "../dag/task-search.tsx";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Notice } from "../ui/notice.tsx";
import { GraphCanvas } from "./graph-canvas.tsx";
import { RunPick } from "./run-pick.tsx";
import { statesOf } from "./states.ts";
import "./graph.css";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

/**
 * Tasks and what they wait for, with the states of the run that is picked, else of the latest one, in the version that
 * run has; or a version without a run.
 */
export function GraphView({ dag, view }: Props) {
  const { query: grid } = useGrid(dag.dagId, view.span, view.before);
  const latest = view.version === null ? (grid.data?.columns.at(-1)?.run.runId ?? null) : null;
  const runId = view.runId ?? latest;
  const { data: run } = useRun(dag.dagId, runId);
  const version = runId === null ? view.version : (run?.version ?? null);
  const other = version === dag.version ? null : version;
  const { data: old, error } = useVersion(dag.dagId, other);
  const graph = other === null ? dag.graph : (old?.graph ?? (error === null ? null : dag.graph));
  const shown = useMemo(() => ({ ...view, runId }), [view, runId]);
  return (
    <section className="graph-view" aria-label="Graph">
      <GraphTools dag={dag} view={view} graph={graph} />
      {other !== null && (
        <p className="graph-note soft small">
          {runId === null ? `This is version ${other}` : `This run has version ${other}`}
          {error === null
            ? `; the current one is ${dag.version ?? "none"}.`
            : `, which cannot be read (${error.message}): the current one is shown.`}
        </p>
      )}
      {graph === null ? (
        <Notice title={other === null ? "No graph" : "Reading the graph …"}>
          {other === null ? "No version of this DAG is stored yet." : undefined}
        </Notice>
      ) : graph.tasks.length === 0 ? (
        <Notice title="No tasks">This DAG has no tasks.</Notice>
      ) : (
        <Drawn
          key={dag.dagId}
          graph={graph}
          view={shown}
          cells={runId === null ? null : (run?.cells ?? NO_CELLS)}
        />
      )}
    </section>
  );
}

const NO_CELLS: readonly Cell[] = [];

function Drawn({
  graph,
  view,
  cells,
}: {
  readonly graph: Graph;
  readonly view: DagView;
  readonly cells: readonly Cell[] | null;
}) {
  const states = useMemo(() => (cells === null ? null : statesOf(cells)), [cells]);
  return <GraphCanvas graph={graph} view={view} states={states} />;
}

function GraphTools({
  dag,
  view,
  graph,
}: {
  readonly dag: DagDetail;
  readonly view: DagView;
  readonly graph: Graph | null;
}) {
  const groups = graph?.groups ?? [];
  const folded = groups.filter((group) => view.folded.includes(group.id)).length;
  return (
    <div className="grid-tools">
      <TaskSearch says="Find tasks" value={view.tasks} />
      <RunPick dag={dag} view={view} none="the latest" versionAlone />
      <span className="gap" />
      {groups.length > 0 && (
        <>
          <button
            type="button"
            className="button"
            disabled={folded === groups.length}
            onClick={() => changeView({ folded: groups.map((group) => group.id) })}
          >
            Fold all groups
          </button>
          <button
            type="button"
            className="button"
            disabled={folded === 0}
            onClick={() => changeView({ folded: [] })}
          >
            Open all
          </button>
        </>
      )}
    </div>
  );
}
