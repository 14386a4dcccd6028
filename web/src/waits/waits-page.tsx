import type { Wait } from "../../../api/contracts-waits.ts";
import { parseRunId } from "../../../core/ids.ts";
import { instanceName } from "../../../core/instance-name.ts";
import { Link } from "../routing/link.tsx";
import { ALL_WAITS, type WaitListView } from "../routing/route.ts";
import { dagPlace, goTo } from "../routing/use-route.ts";
import { formatRunDate } from "../time/format.ts";
import { Reason } from "../time/reason.tsx";
import { Relative, Took } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Answer } from "../ui/answer.tsx";
import { Choice } from "../ui/choice.tsx";
import { Notice } from "../ui/notice.tsx";
import { SearchBox } from "../ui/search-box.tsx";
import { useOpenWaits } from "./queries.ts";
import { FOR, KINDS } from "./words.ts";
import "./waits.css";

/** What waits now without a slot, over all DAGs or of one, that of the oldest run first. */
export function WaitsPage({ list }: { readonly list: WaitListView }) {
  const query = useOpenWaits(list);
  const change = (part: Partial<WaitListView>): void =>
    goTo({ page: "waits", list: { ...list, ...part } }, true);
  return (
    <>
      <div className="list-head">
        <h1>Waits</h1>
        <div className="filters">
          {list.dagId !== null && (
            <button
              type="button"
              className="tag picked-tag"
              aria-label={`No longer of DAG ${list.dagId}`}
              onClick={() => change({ dagId: null })}
            >
              {list.dagId} <span aria-hidden="true">✕</span>
            </button>
          )}
          <SearchBox
            label="Search waits"
            placeholder="Search by DAG, run or task"
            value={list.search}
            onChange={(search) => change({ search })}
          />
          <Choice
            label="What for"
            values={[null, ...KINDS]}
            chosen={list.kind}
            onChoose={(kind) => change({ kind })}
          >
            {(kind) => (kind === null ? "All" : `For ${FOR[kind]}`)}
          </Choice>
        </div>
      </div>
      <Answer query={query} what="waits">
        {({ pages }) => (
          <WaitTable
            waits={pages.flatMap((page) => page.waits)}
            filtered={JSON.stringify(list) !== JSON.stringify(ALL_WAITS)}
          />
        )}
      </Answer>
      {query.hasNextPage && (
        <p className="more-waits">
          <button
            type="button"
            className="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            More waits
          </button>
        </p>
      )}
    </>
  );
}

function WaitTable({ waits, filtered }: { readonly waits: readonly Wait[]; readonly filtered: boolean }) {
  if (waits.length === 0) {
    if (filtered) return <Notice title="No such waits" />;
    return (
      <Notice title="Nothing waits">
        Sensors, and tasks that wait for somebody, for a time or for another run, stand here while they do.
      </Notice>
    );
  }
  return (
    <table className="sheet waits">
      <thead>
        <tr>
          <th scope="col">DAG</th>
          <th scope="col">Task</th>
          <th scope="col">What for</th>
          <th scope="col">Age</th>
          <th scope="col">Time-out</th>
        </tr>
      </thead>
      <tbody>
        {waits.map((wait) => (
          <WaitRow key={wait.key} wait={wait} />
        ))}
      </tbody>
    </table>
  );
}

function WaitRow({ wait }: { readonly wait: Wait }) {
  const { zone } = useZone();
  const { dagId, runId, taskId } = wait;
  const mapIndex = wait.mapIndex < 0 ? null : wait.mapIndex;
  return (
    <tr>
      <th scope="row" className="clip">
        <Link to={dagPlace(dagId)} className="dag-id">
          {dagId}
        </Link>
      </th>
      <td>
        <Link to={dagPlace(dagId, { runId, taskId, mapIndex })}>{instanceName(wait)}</Link>
        <div className="soft small number">{runDate(runId, zone)}</div>
      </td>
      <td className="small">{wait.reason !== null && <Reason text={wait.reason} />}</td>
      <td className="number">{wait.since !== null && <Took from={Date.parse(wait.since)} to={null} />}</td>
      <td>
        {wait.until === null ? <span className="soft">none</span> : <Relative at={Date.parse(wait.until)} />}
      </td>
    </tr>
  );
}

/** A run by its date, as lists of runs name it. */
function runDate(runId: string, zone: string): string {
  const named = parseRunId(runId);
  return named === null ? runId : formatRunDate(named.logicalAt, zone);
}
