import type { DagDetail } from "../../../api/contracts.ts";
import { useRun, useTries } from "../api/queries.ts";
import { CommandButtons } from "../command/command-buttons.tsx";
import { versionsOf } from "../command/wishes.ts";
import { loudest } from "../grid/model.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";
import { formatRunDate } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { Answer } from "../ui/answer.tsx";
import { MapPicker } from "./map-picker.tsx";
import { Named } from "./names.tsx";
import { PanelHead } from "./panel-head.tsx";
import { TaskFacts } from "./task-info.tsx";
import { TemporalLink } from "./temporal-link.tsx";
import { TriesView } from "./tries-view.tsx";
import { WaitingNote } from "./waiting-note.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly runId: string;
  readonly taskId: string;
  readonly view: DagView;
}

/** A task in a run: its state in words, why it waits, its tries. */
export function TaskPanel({ dag, runId, taskId, view }: Props) {
  const { data: run } = useRun(dag.dagId, runId);
  const instances = run?.cells.filter((cell) => cell.taskId === taskId && cell.mapIndex >= 0) ?? [];
  // Of several instances, the one that gave the cell its state.
  const loud = loudest(instances.map((cell) => cell.state));
  // One that its run's version does not map any more has its instances of before, and itself.
  const isWhole = run?.cells.some(
    (cell) => cell.taskId === taskId && cell.mapIndex < 0 && cell.state !== "removed",
  );
  const first = isWhole === true ? undefined : instances.find((cell) => cell.state === loud);
  const mapIndex = view.mapIndex ?? first?.mapIndex ?? null;
  // Asked for beside the run; a mapped task's index is known only with the run, and an error before that means nothing.
  const { data, error } = useTries(dag.dagId, runId, taskId, mapIndex);
  const { zone } = useZone();
  const task = dag.graph?.tasks.find((one) => one.id === taskId);
  const runTitle = run === undefined ? runId : formatRunDate(Date.parse(run.logicalDate), zone);
  return (
    <>
      <PanelHead
        dagId={dag.dagId}
        view={view}
        title={<Named id={taskId} label={task?.label} mapIndex={mapIndex} />}
      >
        {run !== undefined && <TemporalLink url={run.temporalUrl} />}
      </PanelHead>
      <p className="state-line">
        {data !== undefined && <StateWord look={TASK_LOOK[data.state]} />}
        <span className="soft">
          in run{" "}
          <Link
            to={dagPlace(dag.dagId, { ...view, taskId: null, mapIndex: null, tryNumber: null })}
            className="number"
          >
            {runTitle}
          </Link>
        </span>
      </p>
      {run !== undefined && (
        <CommandButtons
          of={{
            dagId: dag.dagId,
            runId,
            tasks: [{ taskId, ...(mapIndex !== null && mapIndex >= 0 && { mapIndex }) }],
          }}
          about={mapIndex === null || mapIndex < 0 ? taskId : `${taskId}[${mapIndex}]`}
        />
      )}
          versions={versionsOf(dag, run)}
      {instances.length > 0 && <MapPicker instances={instances} picked={mapIndex} />}
      <Answer key={mapIndex} query={{ data, error: run === undefined ? null : error }} what="the tries">
        {(list) => (
          <>
            {list.waiting !== null && <WaitingNote waiting={list.waiting} />}
            {list.tries.length === 0 ? (
              <p className="soft">{TASK_LOOK[list.state].meaning}. It has no tries.</p>
            ) : (
              <TriesView dagId={dag.dagId} runId={runId} list={list} view={view} />
            )}
          </>
        )}
      </Answer>
      {task !== undefined && (
        <details className="more">
          <summary>How the task is defined now</summary>
          <Markdown text={task.doc} />
          <TaskFacts dag={dag} task={task} view={view} />
        </details>
      )}
    </>
  );
}
