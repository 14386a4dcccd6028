import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { DagSummary } from "../../../api/contracts.ts";
import { useDags } from "../api/queries.ts";
import { PauseDialog } from "../dag/pause-dialog.tsx";
import { ImportErrorBanner } from "../imports/import-error-banner.tsx";
import { ALL_DAGS, type DagListView, type DagSort } from "../routing/route.ts";
import { Link } from "../routing/link.tsx";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { DagFilters } from "./dag-filters.tsx";
import { DagRow } from "./dag-row.tsx";

/** Fixed in dags.css too: rows of one height make 20,000 of them cheap to scroll. */
const ROW_PX = 56;
/** So many rows before the end of what has been read, more is read: far enough that scrolling seldom meets the end. */
const AHEAD = 60;

export function DagListPage({ list }: { readonly list: DagListView }) {
  const query = useDags(list);
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const dags = useMemo(() => data?.pages.flatMap((page) => page.dags) ?? [], [data]);
  const total = data?.pages[0]?.total ?? 0;
  const [pausing, setPausing] = useState<string | null>(null);
  const filtered = JSON.stringify(list) !== JSON.stringify(ALL_DAGS);
  return (
    <>
      <ImportErrorBanner />
      <div className="list-head">
        <h1>DAGs</h1>
        <span className="soft number" role="status">
          {data !== undefined && total.toLocaleString("en")}
        </span>
        <DagFilters list={list} />
      </div>
      <Answer query={query} what="DAGs">
        {() =>
          dags.length === 0 ? (
            <NoDags filtered={filtered} />
          ) : (
            <DagTable
              dags={dags}
              list={list}
              onPause={setPausing}
              onEnd={() => {
                if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
              }}
            />
          )
        }
      </Answer>
      {pausing !== null && <PauseDialog dagId={pausing} onClose={() => setPausing(null)} />}
    </>
  );
}

interface TableProps {
  readonly dags: readonly DagSummary[];
  readonly list: DagListView;
  readonly onPause: (dagId: string) => void;
  /** The end of what has been read comes near. */
  readonly onEnd: () => void;
}

function DagTable({ dags, list, onPause, onEnd }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    const top = body.current === null ? 0 : body.current.getBoundingClientRect().top + window.scrollY;
    setScrollMargin(top);
  }, [list]);
  useRowKeys(body);
  const rows = useWindowVirtualizer({
    count: dags.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin,
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= dags.length - AHEAD) onEnd();
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
          <SortHead list={list} by="dagId">
            DAG
          </SortHead>
          <th scope="col">Schedule</th>
          <th scope="col">Owner and tags</th>
          <th scope="col">Last runs</th>
          <SortHead list={list} by="nextDueAt">
            Next run
          </SortHead>
        </tr>
      </thead>
      <tbody ref={body}>
        {above > 0 && <tr style={{ height: above }} aria-hidden="true" />}
        {items.map(({ index }) => {
          const dag = dags[index];
          return dag === undefined ? null : (
            <DagRow key={dag.dagId} dag={dag} list={list} onPause={onPause} />
          );
        })}
        {below > 0 && <tr style={{ height: below }} aria-hidden="true" />}
      </tbody>
    </table>
  );
}

interface SortProps {
  readonly list: DagListView;
  readonly by: "dagId" | "nextDueAt";
  readonly children: string;
}

/** Once for this order, once more for the other way round. */
function SortHead({ list, by, children }: SortProps) {
  const up = list.sort === by;
  const down = list.sort === `-${by}`;
  const sort: DagSort = up ? `-${by}` : by;
  return (
    <th scope="col" aria-sort={up ? "ascending" : down ? "descending" : "none"}>
      <Link to={{ page: "dags", list: { ...list, sort } }} className="quiet">
        {children}
        <span className="sort-sign" aria-hidden="true">
          {up ? "↑" : down ? "↓" : ""}
        </span>
      </Link>
    </th>
  );
}

/** j and k go from DAG to DAG; Enter opens, since the focus is on a link. */
function useRowKeys(body: { readonly current: HTMLElement | null }): void {
  const step = (by: number) => (): void => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>("a.dag-id") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    // From nowhere: the first row in sight.
    const first = links.findIndex((link) => link.getBoundingClientRect().top > 0);
    const next = links[at < 0 ? Math.max(0, first) : at + by];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys({ j: step(1), k: step(-1) });
}

function NoDags({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <Notice title="No DAG matches">
        Change the search, or <Link to={{ page: "dags", list: ALL_DAGS }}>show all DAGs</Link>.
      </Notice>
    );
  }
  return (
    <Notice title="No DAGs yet">
      Save a TypeScript file that calls <code>dag(…)</code> into the DAG folder; it appears here within
      seconds.
    </Notice>
  );
}
