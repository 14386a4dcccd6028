import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { useDags } from "../api/queries.ts";
import { DAG_FILTERS, type DagFilter, type DagListView } from "../routing/route.ts";
import { goTo } from "../routing/use-route.ts";
import { ImportErrorBanner } from "../imports/import-error-banner.tsx";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { DagRow } from "./dag-row.tsx";
import { SearchBox } from "../ui/search-box.tsx";

/** Fixed in dags.css too: rows of one height make 20,000 of them cheap to scroll. */
const ROW_PX = 56;
const PAUSED: Record<DagFilter, boolean | null> = { all: null, active: false, paused: true };

export function DagListPage({ list }: { readonly list: DagListView }) {
  const { search, filter } = list;
  const query = useDags(search, PAUSED[filter]);
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const dags = useMemo(() => data?.pages.flatMap((page) => page.dags) ?? [], [data]);
  const total = data?.pages[0]?.total ?? 0;
  return (
    <>
      <ImportErrorBanner />
      <div className="list-head">
        <h1>DAGs</h1>
        <span className="soft number" role="status">
          {data !== undefined && (dags.length < total ? `${dags.length} of ${total}` : total)}
        </span>
        <SearchBox
          label="Search DAGs"
          placeholder="Search by id, tag or owner"
          value={search}
          onChange={(text) => goTo({ page: "dags", list: { ...list, search: text } }, true)}
        />
        <FilterChoice
          filter={filter}
          onChange={(next) => goTo({ page: "dags", list: { ...list, filter: next } }, true)}
        />
      </div>
      <Answer query={query} what="DAGs">
        {() =>
          dags.length === 0 ? (
            <NoDags filtered={search !== "" || filter !== "all"} />
          ) : (
            <DagTable
              dags={dags}
              onEnd={() => {
                if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
              }}
            />
          )
        }
      </Answer>
    </>
  );
}

type Dags = NonNullable<ReturnType<typeof useDags>["data"]>["pages"][number]["dags"];

function DagTable({ dags, onEnd }: { readonly dags: Dags; readonly onEnd: () => void }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const rows = useWindowVirtualizer({
    count: dags.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: body.current?.offsetTop ?? 0,
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= dags.length - 10) onEnd();
  }, [last, dags.length, onEnd]);
  const above = (items[0]?.start ?? 0) - rows.options.scrollMargin;
  const below = rows.getTotalSize() - ((items.at(-1)?.end ?? 0) - rows.options.scrollMargin);
  return (
    <table className="dags">
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">On or paused</span>
          </th>
          <th scope="col">DAG</th>
          <th scope="col">Schedule</th>
          <th scope="col">Owner and tags</th>
          <th scope="col">Last runs</th>
          <th scope="col">Next run</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {above > 0 && <tr style={{ height: above }} aria-hidden="true" />}
        {items.map(({ index }) => {
          const dag = dags[index];
          return dag === undefined ? null : <DagRow key={dag.dagId} dag={dag} />;
        })}
        {below > 0 && <tr style={{ height: below }} aria-hidden="true" />}
      </tbody>
    </table>
  );
}

const FILTER_WORD: Record<DagFilter, string> = { all: "All", active: "On", paused: "Paused" };

function FilterChoice({
  filter,
  onChange,
}: {
  readonly filter: DagFilter;
  readonly onChange: (f: DagFilter) => void;
}) {
  return (
    <div className="choice" role="group" aria-label="Show">
      {DAG_FILTERS.map((one) => (
        <button key={one} type="button" aria-pressed={one === filter} onClick={() => onChange(one)}>
          {FILTER_WORD[one]}
        </button>
      ))}
    </div>
  );
}

function NoDags({ filtered }: { readonly filtered: boolean }) {
  if (filtered) return <Notice title="No DAG matches">Change the search or show all DAGs.</Notice>;
  return (
    <Notice title="No DAGs yet">
      Save a TypeScript file that calls <code>dag(…)</code> into the DAG folder; it appears here within
      seconds.
    </Notice>
  );
}
