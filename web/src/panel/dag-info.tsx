import type { DagDetail } from "../../../api/contracts.ts";
import { Link } from "../routing/link.tsx";
import { ALL_DAGS, ALL_WAITS, type DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { formatInterval } from "../time/format.ts";
import { Relative, When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { NextRuns } from "./next-runs.tsx";
import { PanelHead } from "./panel-head.tsx";

export function DagInfo({ dag, view }: { readonly dag: DagDetail; readonly view: DagView }) {
  const { graph } = dag;
  const { zone } = useZone();
  return (
    <>
      <PanelHead dagId={dag.dagId} title="About this DAG" />
      {dag.description !== "" && <p className="prose">{dag.description}</p>}
      {graph !== null && graph.doc !== "" && <Markdown text={graph.doc} />}
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
              {dag.nextInterval !== null && (
                <span className="soft">
                  {" about "}
                  {formatInterval(Date.parse(dag.nextInterval.start), Date.parse(dag.nextInterval.end), zone)}
                </span>
              )}
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
            {graph.maxActiveTasks !== null && (
              <>
                <dt>Active tasks</dt>
                <dd>at most {graph.maxActiveTasks} over all runs</dd>
              </>
            )}
            <dt>Tasks</dt>
            <dd>
              {graph.tasks.length},{" "}
              <Link to={{ page: "waits", list: { ...ALL_WAITS, dagId: dag.dagId } }}>
                those that wait without a slot
              </Link>
            </dd>
          </>
        )}
        <dt>Owner</dt>
        <dd>{dag.owner === "" ? "nobody named" : dag.owner}</dd>
        {dag.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd className="tags">
              {dag.tags.map((tag) => (
                <Link key={tag} to={{ page: "dags", list: { ...ALL_DAGS, tags: [tag] } }} className="tag">
                  {tag}
                </Link>
              ))}
            </dd>
          </>
        )}
        <dt>File</dt>
        <dd>
          <code>{dag.file}</code>
        </dd>
        {dag.version !== null && (
          <>
            <dt>Version</dt>
            <dd>
              <Link to={dagPlace(dag.dagId, { ...view, show: "code", version: null, against: null })}>
                {dag.version}
              </Link>
              {dag.versionSince !== null && (
                <>
                  , since <Relative at={Date.parse(dag.versionSince)} />
                </>
              )}
            </dd>
          </>
        )}
      </dl>
      <NextRuns dag={dag} />
      {view.show !== "details" && (
        <p className="soft small hint">Pick a run, a task or a cell to see its details here.</p>
      )}
    </>
  );
}
