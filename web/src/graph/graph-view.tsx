import { useMemo } from "react";
import type { Cell, DagDetail, Graph } from "../../../api/contracts.ts";
import { useRun } from "../api/queries.ts";
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

/** Tasks and what they wait for; of a run, as the version it runs with has them, with its states. */
export function GraphView({ dag, view }: Props) {
  const { data: run } = useRun(dag.dagId, view.runId);
  const other = run !== undefined && run.version !== dag.version ? run.version : null;
  const { data: old, error } = useVersion(dag.dagId, other);
  const graph = other === null ? dag.graph : (old?.graph ?? (error === null ? null : dag.graph));
  return (
    <section className="graph-view" aria-label="Graph">
      <GraphTools dag={dag} view={view} graph={graph} />
      {other !== null && (
        <p className="graph-note soft small">
          {error === null
            ? `This run has version ${other}; the current one is ${dag.version ?? "none"}.`
            : `This run has version ${other}, which cannot be read (${error.message}): the current one is shown.`}
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
          view={view}
          cells={view.runId === null ? null : (run?.cells ?? NO_CELLS)}
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
      <RunPick dag={dag} view={view} none="none: the current version" />
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
