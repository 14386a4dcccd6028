import type { DagDetail } from "../../../api/contracts.ts";
import { useGrid } from "../api/queries.ts";
import { NO_PICK, type DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { RUN_LOOK } from "../states/tables.ts";
import { formatRunDate } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import "./run-pick.css";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
  /** What stands for no run. */
  readonly none: string;
  /** A version without a run may be looked at too. */
  readonly versionAlone?: boolean;
}

/** No run has such an id. */
const VERSION = " ";

/** A longer list is what the grid is for. */
const OFFERED = 200;

/** Which run is looked at, newest first; the grid offers the same ones. */
export function RunPick({ dag, view, none, versionAlone = false }: Props) {
  const { query } = useGrid(dag.dagId, view.span, view.before);
  const runs = (query.data?.columns ?? []).slice(-OFFERED).map((column) => column.run);
  const { zone } = useZone();
  const { runId } = view;
  const listed = runId === null || runs.some((run) => run.runId === runId);
  return (
    <label className="run-pick">
      <span className="soft small">Run</span>
      <select
        className="field"
        value={runId ?? (versionAlone && view.version !== null ? VERSION : "")}
        onChange={({ target: { value } }) =>
          changeView({
            ...NO_PICK,
            taskId: view.taskId,
            groupId: view.groupId,
            runId: value === "" || value === VERSION ? null : value,
            version: value === VERSION ? (view.version ?? dag.version) : null,
          })
        }
      >
        <option value="">{none}</option>
        {versionAlone && dag.version !== null && (
          <option value={VERSION}>no run: version {view.version ?? dag.version}</option>
        )}
        {!listed && <option value={runId}>{runId}</option>}
        {runs.toReversed().map((run) => (
          <option key={run.runId} value={run.runId}>
            {formatRunDate(Date.parse(run.logicalDate), zone)} · {RUN_LOOK[run.state].word}
          </option>
        ))}
      </select>
    </label>
  );
}
