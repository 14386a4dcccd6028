/** What the page reads, as hooks. What moves is asked for each second while the tab is visible and nobody tells. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { DagDetail, TryList } from "../../../api/contracts.ts";
import { RUN_DONE, TASK_DONE } from "../../../core/states.ts";
import { withChanges, withNewest, withOlder, type GridData } from "../grid/data.ts";
import type { DagFilter, DagListView, RunListView } from "../routing/route.ts";
import { formatDay, parseTyped } from "../time/format.ts";
import { api } from "./api.ts";
import { changesSince } from "./apply-changes.ts";

import { isLive, pollMs } from "./live.ts";

const LIVE_MS = 1000;
const CALM_MS = 5000;
/** The API reads every lease for it: 40 ms with 17,000 on two busy cores. */
const POOLS_MS = 1500;
/** While changes come by themselves a poll only finds what the stream does not tell. */
const CHECK_MS = 15_000;

/** The first page is there at once; who scrolls past it may be on the way to the end of 20,000. */
const DAGS_AT_FIRST = 100;
const DAGS_A_PAGE = 500;
/** Every page read so far is read again, so a list scrolled through is left to its changes. */
const PAGES_POLLED = 2;

const pollPages = ({
  state,
}: {
  readonly state: { readonly data?: { readonly pages: readonly unknown[] } | undefined };
}) => ((state.data?.pages.length ?? 1) > PAGES_POLLED ? false : pollMs(LIVE_MS, CALM_MS));

const PAUSED: Record<DagFilter, boolean | undefined> = { all: undefined, active: false, paused: true };

/** What is not filled in does not filter. */
const filled = (text: string): string | undefined => (text === "" ? undefined : text);

export function useDags(list: DagListView) {
  return useInfiniteQuery({
    queryKey: ["dags", list],
    queryFn: ({ pageParam, signal }) => {
      const filter = {
        search: filled(list.search),
        paused: PAUSED[list.filter],
        tag: list.tags,
        tagMatch: list.tags.length > 1 ? ("all" as const) : undefined,
        owner: list.owner === null ? undefined : [list.owner],
        state: list.state ?? undefined,
        importError: list.withError ? true : undefined,
        sort: list.sort,
        limit: pageParam === null ? DAGS_AT_FIRST : DAGS_A_PAGE,
      };
      return api.dags.list(filter, { signal }).page(pageParam);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    placeholderData: keepPreviousData,
    refetchInterval: pollPages,
  });
}

/** Which tags and owners there are to choose from. */
export function useFacets() {
  return useQuery({
    queryKey: ["facets"],
    queryFn: ({ signal }) => api.dags.facets({ signal }),
    refetchInterval: 60_000,
  });
}

export function useDag(dagId: string | null) {
  return useQuery({
    queryKey: ["dag", dagId],
    queryFn: ({ signal }) => api.dags.get(dagId!, { signal }),
    enabled: dagId !== null,
    refetchInterval: () => pollMs(CALM_MS),
  });
}

const RUNS_AHEAD = 5;

/** The runs to come, if the DAG stays as it is; of one that is paused there are none. */
export function useNextRuns({ dagId, paused, version }: DagDetail) {
  return useQuery({
    // Asked anew when it is switched on, or has another schedule.
    queryKey: ["next-runs", dagId, version],
    enabled: !paused,
    queryFn: ({ signal }) => api.dags.nextRuns(dagId, { count: RUNS_AHEAD }, { signal }),
    refetchInterval: 30_000,
  });
}

/** A page of older runs: enough for a screen of narrow columns, little enough to be there before the reader is. */
const OLDER_RUNS = 200;
/** The most the API gives at once. */
const MOST_RUNS = 1000;

/** The newest `span` runs before `before`, and those older ones that were asked for. */
export function useGrid(dagId: string, span: number, before: string | null) {
  const client = useQueryClient();
  const queryKey = ["grid", dagId, span, before];
  const read = (): GridData | null => client.getQueryData<GridData>(queryKey) ?? null;
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const askedAt = Date.now();
      // Without the stream older columns are followed by asking for them too.
      const runs = isLive() ? span : Math.min(MOST_RUNS, Math.max(span, read()?.columns.length ?? 0));
      const grid = await api.dags.grid(dagId, { runs, before }, { signal });
      return changesSince(askedAt).reduce(withChanges, withNewest(read(), grid));
    },
    structuralSharing: false,
    // Another page of the same DAG keeps the old picture until the new one is there; another DAG's would mislead.
    placeholderData: (previous) => (previous?.dagId === dagId ? previous : undefined),
    refetchInterval: () => pollMs(LIVE_MS, CHECK_MS),
  });
  const older = useMutation({
    mutationFn: async () => {
      const from = read()?.before ?? null;
      if (from === null) return;
      const askedAt = Date.now();
      const grid = await api.dags.grid(dagId, { runs: OLDER_RUNS, before: from });
      client.setQueryData<GridData>(queryKey, (data) =>
        data?.before === from ? changesSince(askedAt).reduce(withChanges, withOlder(data, grid)) : data,
      );
    },
  });
  return { query, readOlder: older.mutate, isReadingOlder: older.isPending };
}

export function useRun(dagId: string, runId: string | null) {
  return useQuery({
    queryKey: ["run", dagId, runId],
    queryFn: ({ signal }) => api.runs.get(dagId, runId!, { signal }),
    enabled: runId !== null,
    // A run that ended can be cleared and move again, so it is still looked at, but seldom.
    refetchInterval: ({ state }) =>
      state.data !== undefined && RUN_DONE[state.data.state]
        ? pollMs(CALM_MS, CHECK_MS)
        : pollMs(LIVE_MS, CALM_MS),
  });
}

const isOver = ({ state, tries }: TryList): boolean =>
  TASK_DONE[state] && tries.every((one) => one.state !== "running");

export function useTries(dagId: string, runId: string, taskId: string, mapIndex: number | null) {
  return useQuery({
    queryKey: ["tries", dagId, runId, taskId, mapIndex],
    queryFn: ({ signal }) =>
      api.tasks.tries({ dagId, runId, taskId, mapIndex: mapIndex ?? undefined }, { signal }),
    // Of a task that has ended nothing more is told; but without the stream nobody would say that it began again. Of
    // one that waits the stream does not tell its checks.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isOver(data)
        ? !isLive() && CHECK_MS
        : pollMs(LIVE_MS, data?.state === "deferred" ? LIVE_MS : CALM_MS),
  });
}

const RUNS_A_PAGE = 50;

/** Runs of all DAGs, newest made first. */
export function useRuns(list: RunListView, zone: string) {
  const dayAt = (day: string | null, days: number): string | undefined => {
    const read = day === null ? null : parseTyped(day, zone);
    if (read?.kind !== "instant") return undefined;
    // A day later is a day of the calendar: the clocks may have changed meanwhile.
    const next = days === 0 ? read : parseTyped(formatDay(read.at + days * 26 * 3_600_000, zone), zone);
    return next.kind === "instant" ? new Date(next.at).toISOString() : undefined;
  };
  const [from, until] = [dayAt(list.from, 0), dayAt(list.until, 1)];
  const span = list.by === "started" ? { startedFrom: from, startedUntil: until } : { from, until };
  return useInfiniteQuery({
    queryKey: ["runs", list, zone],
    queryFn: ({ pageParam, signal }) => {
      const filter = {
        state: list.state === null ? undefined : [list.state],
        type: list.type === null ? undefined : [list.type],
        search: filled(list.search),
        ...span,
        tasks: true,
        limit: RUNS_A_PAGE,
      };
      return api.runs.list(filter, { signal }).page(pageParam);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.before,
    placeholderData: keepPreviousData,
    refetchInterval: pollPages,
  });
}

export function usePools() {
  return useQuery({
    queryKey: ["pools"],
    queryFn: ({ signal }) => api.pools.list({ signal }),
    refetchInterval: () => pollMs(POOLS_MS),
  });
}

export function useImportErrors() {
  return useQuery({
    queryKey: ["import-errors"],
    queryFn: ({ signal }) => api.files.importErrors({ signal }),
    refetchInterval: () => pollMs(2 * LIVE_MS),
  });
}

export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => api.health({ signal }),
    refetchInterval: 30_000,
  });
}
