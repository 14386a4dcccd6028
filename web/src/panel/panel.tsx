import type { DagDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";
import { DagInfo } from "./dag-info.tsx";
import { GroupPanel } from "./group-panel.tsx";
import { RunPanel } from "./run-panel.tsx";
import { TaskInfo } from "./task-info.tsx";
import { TaskPanel } from "./task-panel.tsx";

/** What is known of what is selected: the DAG, a task, a run, or a task in a run. */
export function Panel({ dag, view }: { readonly dag: DagDetail; readonly view: DagView }) {
  const { runId, taskId, groupId } = view;
  return (
    <aside className={view.show === "details" ? "panel full" : "panel"} aria-label="Details">
      {runId !== null && taskId !== null ? (
        <TaskPanel key={`${runId} ${taskId}`} dag={dag} runId={runId} taskId={taskId} view={view} />
      ) : groupId !== null ? (
        <GroupPanel dag={dag} groupId={groupId} runId={runId} view={view} />
      ) : runId !== null ? (
        <RunPanel key={runId} dag={dag} runId={runId} view={view} />
      ) : taskId !== null ? (
        <TaskInfo dag={dag} taskId={taskId} view={view} />
      ) : (
        <DagInfo dag={dag} view={view} />
      )}
    </aside>
  );
}
