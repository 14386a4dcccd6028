import type { DagDetail, GraphTask } from "../../../api/contracts.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { formatSetting } from "../time/format.ts";
import { Notice } from "../ui/notice.tsx";
import { Named, taskLabel } from "./names.tsx";
import { PanelHead } from "./panel-head.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly taskId: string;
  readonly view: DagView;
}

/** A task as the current version defines it. */
export function TaskInfo({ dag, taskId, view }: Props) {
  const task = dag.graph?.tasks.find((one) => one.id === taskId);
  return (
    <>
      <PanelHead dagId={dag.dagId} view={view} title={<Named id={taskId} label={task?.label} />} />
      {task === undefined ? (
        <Notice title="Not in the current version">
          Pick a cell of an older run to see what this task did.
        </Notice>
      ) : (
        <>
          <Markdown text={task.doc} />
          <TaskFacts dag={dag} task={task} view={view} />
        </>
      )}
    </>
  );
}

export function TaskFacts({
  dag,
  task,
  view,
}: {
  readonly dag: DagDetail;
  readonly task: GraphTask;
  readonly view: DagView;
}) {
  const edges = dag.graph?.edges ?? [];
  const upstream = edges.filter((edge) => edge.to === task.id).map((edge) => edge.from);
  const downstream = edges.filter((edge) => edge.from === task.id).map((edge) => edge.to);
  return (
    <dl className="facts">
      <dt>After</dt>
      <dd>
        <TaskLinks dag={dag} ids={upstream} view={view} />
      </dd>
      <dt>Before</dt>
      <dd>
        <TaskLinks dag={dag} ids={downstream} view={view} />
      </dd>
      <dt>Trigger rule</dt>
      <dd>{task.triggerRule.replaceAll("_", " ")}</dd>
      <dt>Retries</dt>
      <dd>{retriesInWords(task)}</dd>
      <dt>Time-out</dt>
      <dd>{task.executionTimeoutMs === null ? "none" : formatSetting(task.executionTimeoutMs)}</dd>
      <dt>Pool</dt>
      <dd>
        <Link to={{ page: "pools" }}>{task.pool}</Link>, {task.poolSlots}{" "}
        {task.poolSlots === 1 ? "slot" : "slots"}, priority {task.priorityWeight}
        {task.cores !== 1 && `, taken to use ${task.cores} ${task.cores > 1 ? "cores" : "core"}`}
        {task.maxActivePerDag !== null && `, at most ${task.maxActivePerDag} at once over all runs`}
      </dd>
      <dt>Queue</dt>
      <dd>{task.queue}</dd>
    </dl>
  );
}

function retriesInWords(task: GraphTask): string {
  if (task.retries === 0) return "none";
  const growth = task.retryFactor === 1 ? "" : `, × ${task.retryFactor} each time`;
  const most = task.retryMaxDelayMs === null ? "" : `, at most ${formatSetting(task.retryMaxDelayMs)}`;
  return `${task.retries}, after ${formatSetting(task.retryDelayMs)}${growth}${most}`;
}

function TaskLinks({
  dag,
  ids,
  view,
}: {
  readonly dag: DagDetail;
  readonly ids: readonly string[];
  readonly view: DagView;
}) {
  if (ids.length === 0) return <>none</>;
  return (
    <>
      {ids.map((id, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <Link to={dagPlace(dag.dagId, { ...view, taskId: id, mapIndex: null, tryNumber: null })} title={id}>
            {taskLabel(dag.graph, id)}
          </Link>
        </span>
      ))}
    </>
  );
}
