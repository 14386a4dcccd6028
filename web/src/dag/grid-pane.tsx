import { useMemo, useRef } from "react";
import type { DagDetail, Grid as GridData } from "../../../api/contracts.ts";
import { useGrid } from "../api/queries.ts";
import { Grid } from "../grid/grid.tsx";
import { buildModel, type GridModel } from "../grid/model.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { GridTools } from "./grid-tools.tsx";
import { Legend } from "./legend.tsx";

export function GridPane({ dag, view }: { readonly dag: DagDetail; readonly view: DagView }) {
  const query = useGrid(dag.dagId, view.span, view.before);
  return (
    <section className="grid-pane" aria-label="Grid" aria-busy={query.isPlaceholderData}>
      <GridTools view={view} older={query.data?.before ?? null} />
      <Answer query={query} what="the grid">
        {(data) =>
          data.runs.length === 0 ? (
            <NoRuns dag={dag} past={view.before !== null} />
          ) : (
            <FilledGrid data={data} view={view} />
          )
        }
      </Answer>
      <Legend />
    </section>
  );
}

function FilledGrid({ data, view }: { readonly data: GridData; readonly view: DagView }) {
  const model = useModel(data);
  const filter = view.tasks.toLowerCase();
  const shown = useMemo(
    () =>
      filter === ""
        ? model
        : { ...model, rows: model.rows.filter((row) => row.task.id.toLowerCase().includes(filter)) },
    [model, filter],
  );
  if (shown.rows.length === 0 && filter !== "")
    return <Notice title="No task matches">Change the filter.</Notice>;
  return (
    <Grid
      model={shown}
      span={view.span}
      picked={{ runId: view.runId, taskId: view.taskId }}
      onPick={(pick) => changeView({ ...pick, mapIndex: null, tryNumber: null })}
    />
  );
}

/** The last model is the base of the next, so that rows without a change keep their identity. */
function useModel(data: GridData): GridModel {
  const last = useRef<GridModel | null>(null);
  return useMemo(() => (last.current = buildModel(data, last.current)), [data]);
}

function NoRuns({ dag, past }: { readonly dag: DagDetail; readonly past: boolean }) {
  if (past) return <Notice title="No older runs">Press Newest to go back.</Notice>;
  return (
    <Notice title="No runs yet">
      {dag.paused
        ? "This DAG is paused: switch it on, or trigger a run."
        : "The next run appears here; or trigger one now."}
    </Notice>
  );
}
