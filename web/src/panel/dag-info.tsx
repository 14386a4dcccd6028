import type { DagDetail } from "../../../api/contracts.ts";
import { Relative, When } from "../time/when.tsx";
import { PanelHead } from "./panel-head.tsx";

export function DagInfo({ dag }: { readonly dag: DagDetail }) {
  const { graph } = dag;
  const version = dag.versions[0];
  return (
    <>
      <PanelHead dagId={dag.dagId} title="About this DAG" />
      {dag.description !== "" && <p className="prose">{dag.description}</p>}
      {graph !== null && graph.doc !== "" && <p className="prose">{graph.doc}</p>}
      <dl className="facts">
        <dt>Schedule</dt>
        <dd>{dag.schedule}</dd>
        {graph !== null && graph.timetable.kind === "cron" && (
          <>
            <dt>Cron</dt>
            <dd>
              <code>{graph.timetable.cron}</code> in {graph.timetable.zone}
            </dd>
          </>
        )}
        <dt>Next run</dt>
        <dd>
          {dag.nextDueAt === null ? (
            "none due"
          ) : (
            <>
              <When at={Date.parse(dag.nextDueAt)} seconds={false} />
              {dag.paused ? " (once switched on)" : ""}
            </>
          )}
        </dd>
        {graph !== null && (
          <>
            {graph.startDate !== null && (
              <>
                <dt>Start date</dt>
                <dd>
                  <When at={Date.parse(graph.startDate)} seconds={false} />
                </dd>
              </>
            )}
            {graph.endDate !== null && (
              <>
                <dt>End date</dt>
                <dd>
                  <When at={Date.parse(graph.endDate)} seconds={false} />
                </dd>
              </>
            )}
            <dt>Catch up</dt>
            <dd>{graph.catchup ? "yes" : "no"}</dd>
            <dt>Active runs</dt>
            <dd>at most {graph.maxActiveRuns}</dd>
            <dt>Tasks</dt>
            <dd>{graph.tasks.length}</dd>
          </>
        )}
        <dt>Owner</dt>
        <dd>{dag.owner === "" ? "nobody named" : dag.owner}</dd>
        {dag.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd className="tags">
              {dag.tags.map((tag) => (
                <span key={tag} className="tag">
                  {tag}
                </span>
              ))}
            </dd>
          </>
        )}
        <dt>File</dt>
        <dd>
          <code>{dag.file}</code>
        </dd>
        {version !== undefined && (
          <>
            <dt>Version</dt>
            <dd>
              {version.number}, since <Relative at={Date.parse(version.createdAt)} />
            </dd>
          </>
        )}
      </dl>
      <p className="soft small hint">Pick a run, a task or a cell to see its details here.</p>
    </>
  );
}
