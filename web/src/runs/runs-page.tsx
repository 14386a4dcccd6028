import type { ListedRun } from "../../../api/contracts.ts";
import { RUN_STATES, type RunType } from "../../../core/states.ts";
import { standOf } from "../../../remote/run-words.ts";
import { useRuns } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { ALL_RUNS, RUN_DATES, type RunDate, type RunListView } from "../routing/route.ts";
import { dagPlace, goTo } from "../routing/use-route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { RUN_LOOK, RUN_TYPE_WORD } from "../states/tables.ts";
import { formatRunDate } from "../time/format.ts";
import { Relative, Took } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Answer } from "../ui/answer.tsx";
import { Choice } from "../ui/choice.tsx";
import { Notice } from "../ui/notice.tsx";
import { SearchBox } from "../ui/search-box.tsx";

/** The kinds that runs can have today; an address may name one of the others. */
const KINDS: readonly RunType[] = ["scheduled", "manual"];

const DATE_WORD: Record<RunDate, string> = { started: "Started", logical: "Logical date" };

/** Runs of all DAGs, newest first: what failed, and what is at work. */
export function RunsPage({ list }: { readonly list: RunListView }) {
  const { zone } = useZone();
  const query = useRuns(list, zone);
  const change = (part: Partial<RunListView>): void =>
    goTo({ page: "runs", list: { ...list, ...part } }, true);
  return (
    <>
      <div className="list-head">
        <h1>Runs</h1>
        <div className="filters">
          <SearchBox
            label="Search runs"
            placeholder="Search by DAG or run"
            value={list.search}
            onChange={(search) => change({ search })}
          />
          <select
            className="field"
            aria-label="Which date"
            title={
              list.by === "started"
                ? "from and to are about when a run began; one that waits to begin is in no such span"
                : "from and to are about a run's logical date, the start of its interval"
            }
            value={list.by}
            onChange={(event) =>
              change({ by: RUN_DATES.find((one) => one === event.target.value) ?? ALL_RUNS.by })
            }
          >
            {RUN_DATES.map((by) => (
              <option key={by} value={by}>
                {DATE_WORD[by]}
              </option>
            ))}
          </select>
          <label className="check">
            from
            <input
              type="date"
              className="field"
              value={list.from ?? ""}
              onChange={(event) => change({ from: event.target.value || null })}
            />
          </label>
          <label className="check">
            to
            <input
              type="date"
              className="field"
              value={list.until ?? ""}
              onChange={(event) => change({ until: event.target.value || null })}
            />
          </label>
          <select
            className="field"
            aria-label="Kind"
            value={list.type ?? ""}
            onChange={(event) => change({ type: KINDS.find((one) => one === event.target.value) ?? null })}
          >
            <option value="">Any kind</option>
            {KINDS.map((type) => (
              <option key={type} value={type}>
                {RUN_TYPE_WORD[type]}
              </option>
            ))}
          </select>
          <Choice
            label="Show"
            values={[null, ...RUN_STATES]}
            chosen={list.state}
            onChoose={(state) => change({ state })}
          >
            {(state) => (state === null ? "All" : <StateWord look={RUN_LOOK[state]} />)}
          </Choice>
        </div>
      </div>
      <Answer query={query} what="runs">
        {({ pages }) => (
          <RunTable
            runs={pages.flatMap((page) => page.runs)}
            filtered={JSON.stringify(list) !== JSON.stringify(ALL_RUNS)}
          />
        )}
      </Answer>
      {query.hasNextPage && (
        <p className="more-runs">
          <button
            type="button"
            className="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Older runs
          </button>
        </p>
      )}
    </>
  );
}

function RunTable({ runs, filtered }: { readonly runs: readonly ListedRun[]; readonly filtered: boolean }) {
  if (runs.length === 0) {
    if (filtered) return <Notice title="No such runs" />;
    return <Notice title="No runs yet">Trigger one from a DAG&apos;s page.</Notice>;
  }
  return (
    <table className="sheet runs">
      <thead>
        <tr>
          <th scope="col">DAG</th>
          <th scope="col">Logical date</th>
          <th scope="col">State</th>
          <th scope="col">Kind</th>
          <th scope="col">Started</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.key} run={run} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run }: { readonly run: ListedRun }) {
  const { zone } = useZone();
  const startedAt = run.startedAt === null ? null : Date.parse(run.startedAt);
  const endedAt = run.endedAt === null ? null : Date.parse(run.endedAt);
  return (
    <tr>
      <th scope="row" className="clip">
        <Link to={dagPlace(run.dagId)} className="dag-id">
          {run.dagId}
        </Link>
      </th>
      <td className="number">
        <Link to={dagPlace(run.dagId, { runId: run.runId })}>
          {formatRunDate(Date.parse(run.logicalDate), zone)}
        </Link>
      </td>
      <td>
        <StateWord look={RUN_LOOK[run.state]} />
        <Why run={run} />
      </td>
      <td>{RUN_TYPE_WORD[run.runType]}</td>
      <td>{startedAt === null ? <span className="soft">not yet</span> : <Relative at={startedAt} />}</td>
      <td className="number">{startedAt !== null && <Took from={startedAt} to={endedAt} />}</td>
    </tr>
  );
}

/** The reason of the run itself, else which task failed, which is a link to it, or that it waits. */
function Why({ run }: { readonly run: ListedRun }) {
  const text = run.reason ?? standOf(run);
  if (text === null) return null;
  const failed = run.reason === null ? (run.tasks?.firstFailed ?? null) : null;
  return (
    <div className="soft small clip" title={text}>
      {failed === null ? (
        text
      ) : (
        <Link
          to={dagPlace(run.dagId, {
            runId: run.runId,
            taskId: failed.taskId,
            mapIndex: failed.mapIndex < 0 ? null : failed.mapIndex,
          })}
          className="quiet"
        >
          {text}
        </Link>
      )}
    </div>
  );
}
