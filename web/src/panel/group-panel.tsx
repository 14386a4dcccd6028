import type { DagDetail, RunDetail } from "../../../api/contracts.ts";
import { useRun } from "../api/queries.ts";
import { CommandButtons } from "../command/command-buttons.tsx";
import { versionsOf } from "../command/wishes.ts";
import { loudest } from "../grid/model.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { changeView, dagPlace } from "../routing/use-route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";
import { formatRunDate } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { Notice } from "../ui/notice.tsx";
import { Named } from "./names.tsx";
import { PanelHead } from "./panel-head.tsx";
import { WaitingNote } from "./waiting-note.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly groupId: string;
  readonly runId: string | null;
  readonly view: DagView;
}

/** A group: its doc and its tasks, with their states when a run is picked. */
export function GroupPanel({ dag, groupId, runId, view }: Props) {
  const { data: run } = useRun(dag.dagId, runId);
  const { zone } = useZone();
  const groups = dag.graph?.groups ?? [];
  const group = groups.find((one) => one.id === groupId);
  const within = (id: string | null): boolean =>
    id !== null && (id === groupId || within(groups.find((one) => one.id === id)?.parent ?? null));
  const tasks = dag.graph?.tasks.filter((task) => within(task.group)) ?? [];
  if (group === undefined) {
    return (
      <>
        <PanelHead dagId={dag.dagId} view={view} title={groupId} />
        <Notice title="No such group">The current version has no group of this name.</Notice>
      </>
    );
  }
  const states = new Map(
    tasks.map((task) => {
      const cells = run?.cells.filter((cell) => cell.taskId === task.id) ?? [];
      return [task.id, loudest(cells.map((cell) => cell.state)) ?? "none"] as const;
    }),
  );
  const isFolded = view.folded.includes(groupId);
  const folded = isFolded ? view.folded.filter((one) => one !== groupId) : [...view.folded, groupId];
  return (
    <>
      <PanelHead dagId={dag.dagId} view={view} title={<Named id={groupId} label={group.label} />} />
      <p className="state-line">
        {run !== undefined && <StateWord look={TASK_LOOK[loudest([...states.values()]) ?? "none"]} />}
        <span className="soft">
          group of {tasks.length} {tasks.length === 1 ? "task" : "tasks"}
          {run !== undefined && (
            <>
              {" in run "}
              <Link to={dagPlace(dag.dagId, { ...view, groupId: null })} className="number">
                {formatRunDate(Date.parse(run.logicalDate), zone)}
              </Link>
            </>
          )}
        </span>
        <button type="button" className="as-link link small" onClick={() => changeView({ folded }, true)}>
          {isFolded ? "unfold" : "fold"}
        </button>
      </p>
      {runId !== null && (
        <CommandButtons
          of={{ dagId: dag.dagId, runId, groups: [groupId] }}
          about={`group ${groupId}`}
          versions={versionsOf(dag, run)}
        />
      )}
      {group.doc !== "" && <Markdown text={group.doc} />}
      <ul className="to-see" aria-label="Tasks of the group">
        {tasks.map((task) => (
          <li key={task.id}>
            <Link to={dagPlace(dag.dagId, { ...view, groupId: null, taskId: task.id })}>
              {task.label === "" ? task.id : task.label}
            </Link>
            {run !== undefined && <StateWord look={TASK_LOOK[states.get(task.id) ?? "none"]} />}
            <TaskWait run={run} taskId={task.id} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Of a mapped task the one that waits longest says why. */
function TaskWait({ run, taskId }: { readonly run: RunDetail | undefined; readonly taskId: string }) {
  const waiting = run?.waiting.find((one) => one.taskId === taskId);
  return waiting === undefined ? null : <WaitingNote waiting={waiting} />;
}
