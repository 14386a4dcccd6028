import type { Cell, DagDetail, RunDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";
import { Took, When } from "../time/when.tsx";
import { CellLink } from "./cell-link.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly run: RunDetail;
  readonly view: DagView;
}

/** More than this belongs into the grid. */
const MOST = 500;

/** All tasks of a run in definition order: what a run's own page has room for. */
export function RunTasks({ dag, run, view }: Props) {
  const place = new Map(dag.graph?.tasks.map((task, at) => [task.id, at]));
  const placeOf = (cell: Cell): number => place.get(cell.taskId) ?? place.size;
  const cells = run.cells.toSorted((a, b) => placeOf(a) - placeOf(b) || a.mapIndex - b.mapIndex);
  if (cells.length === 0) return null;
  return (
    <>
      <h3>Tasks</h3>
      <table className="sheet run-tasks">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col">Tries</th>
            <th scope="col">Started</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {cells.slice(0, MOST).map((cell) => (
            <Row key={`${cell.taskId} ${cell.mapIndex}`} dag={dag} cell={cell} view={view} />
          ))}
        </tbody>
      </table>
      {cells.length > MOST && <p className="soft">and {cells.length - MOST} more, in the grid</p>}
    </>
  );
}

function Row({ dag, cell, view }: { readonly dag: DagDetail; readonly cell: Cell; readonly view: DagView }) {
  const startedAt = cell.startedAt === null ? null : Date.parse(cell.startedAt);
  return (
    <tr>
      <th scope="row" className="clip">
        <CellLink dag={dag} cell={cell} view={view} />
      </th>
      <td>
        <StateWord look={TASK_LOOK[cell.state]} />
      </td>
      <td className="number">{cell.try}</td>
      <td className="number">
        {startedAt === null ? <span className="soft">not yet</span> : <When at={startedAt} />}
      </td>
      <td className="number">
        {startedAt !== null && (
          <Took from={startedAt} to={cell.endedAt === null ? null : Date.parse(cell.endedAt)} />
        )}
      </td>
    </tr>
  );
}
