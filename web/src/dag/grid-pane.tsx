import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { DagDetail } from "../../../api/contracts.ts";
import { useGrid, useRun } from "../api/queries.ts";
import { isBefore, type GridData } from "../grid/data.ts";
import { Grid } from "../grid/grid.tsx";
import { layRows } from "../grid/rows.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { GridTools } from "./grid-tools.tsx";
import { Legend } from "./legend.tsx";

export function GridPane({ dag, view }: { readonly dag: DagDetail; readonly view: DagView }) {
  const { query, readOlder, isReadingOlder } = useGrid(dag.dagId, view.span, view.before);
  const { data } = query;
  const sight = useRef<string | null>(null);
  const [leftOf, setLeftOf] = useState(0);
  const onSight = useCallback((key: string | null, before: number) => {
    sight.current = key;
    setLeftOf(before);
  }, []);
  const more = data !== undefined && data.before !== null;
  useReadUntil(dag.dagId, view.runId, data, isReadingOlder, readOlder);
  return (
    <section className="grid-pane" aria-label="Grid" aria-busy={query.isPlaceholderData || isReadingOlder}>
      <GridTools
        dag={dag}
        view={view}
        hasOlder={more || leftOf > 0}
        onOlder={() => changeView({ before: sight.current })}
      />
      <Answer query={query} what="the grid">
        {(grid) =>
          grid.columns.length === 0 ? (
            <NoRuns dag={dag} past={view.before !== null} />
          ) : (
            <FilledGrid
              dag={dag}
              data={grid}
              view={view}
              onSight={onSight}
              onNearStart={() => {
                if (more && !isReadingOlder && !query.isPlaceholderData) readOlder();
              }}
            />
          )
        }
      </Answer>
      <Legend />
    </section>
  );
}

interface FilledProps {
  readonly dag: DagDetail;
  readonly data: GridData;
  readonly view: DagView;
  readonly onSight: (key: string | null, before: number) => void;
  readonly onNearStart: () => void;
}

function FilledGrid({ dag, data, view, onSight, onNearStart }: FilledProps) {
  const { graph } = dag;
  const folded = view.folded.join("\n");
  const rows = useMemo(
    () => layRows(data.tasks, graph, new Set(folded.split("\n")), view.tasks),
    [data.tasks, graph, folded, view.tasks],
  );
  if (rows.length === 0 && view.tasks !== "")
    return <Notice title="No task matches">Change the filter.</Notice>;
  return (
    <Grid
      dagId={dag.dagId}
      columns={data.columns}
      rows={rows}
      span={view.span}
      picked={view}
      onPick={(pick) =>
        changeView({ ...pick, mapIndex: null, tryNumber: null, line: null, find: "", level: "debug" })
      }
      onFold={(group) =>
        changeView(
          {
            folded: view.folded.includes(group)
              ? view.folded.filter((one) => one !== group)
              : [...view.folded, group],
          },
          true,
        )
      }
      onSight={onSight}
      onNearStart={onNearStart}
    />
  );
}

/** Far enough for any link that was made by looking at the grid. */
const MOST_COLUMNS = 5000;

/** A link to a run that is older than the first page: pages are read until it is there. */
function useReadUntil(
  dagId: string,
  runId: string | null,
  data: GridData | undefined,
  isReading: boolean,
  readOlder: () => void,
): void {
  const { data: run } = useRun(dagId, runId);
  const oldest = data?.columns[0]?.run.key;
  const wanted =
    run !== undefined &&
    data !== undefined &&
    oldest !== undefined &&
    data.before !== null &&
    data.columns.length < MOST_COLUMNS &&
    isBefore(run.key, oldest);
  useEffect(() => {
    if (wanted && !isReading) readOlder();
  }, [wanted, isReading, oldest, readOlder]);
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
