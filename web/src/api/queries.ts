/** Everything the page reads, as hooks. What moves is asked for each second while the tab is visible. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type {
  DagDetail,
  DagList,
  Grid,
  Health,
  ImportErrorList,
  PoolList,
  RunDetail,
  RunList,
  TryList,
} from "../../../api/contracts.ts";
import { RUN_DONE, type RunState } from "../../../core/states.ts";
import { getJson, queryOf } from "./fetch.ts";

const LIVE_MS = 1000;
const CALM_MS = 5000;

const id = encodeURIComponent;
export const dagPath = (dagId: string): string => `/dags/${id(dagId)}`;
const runPath = (dagId: string, runId: string): string => `${dagPath(dagId)}/runs/${id(runId)}`;
export const taskPath = (dagId: string, runId: string, taskId: string): string =>
  `${runPath(dagId, runId)}/tasks/${id(taskId)}`;

const DAGS_A_PAGE = 100;

export function useDags(search: string, paused: boolean | null) {
  return useInfiniteQuery({
    queryKey: ["dags", search, paused],
    queryFn: ({ pageParam, signal }) => {
      const query = queryOf({
        search,
        paused: paused === null ? null : String(paused),
        limit: DAGS_A_PAGE,
        after: pageParam,
      });
      return getJson<DagList>(`/dags${query}`, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    placeholderData: keepPreviousData,
    // Every page read so far is read again, so a long list is looked at less often.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 2 ? CALM_MS : LIVE_MS),
  });
}

export function useDag(dagId: string | null) {
  return useQuery({
    queryKey: ["dag", dagId],
    queryFn: ({ signal }) => getJson<DagDetail>(dagPath(dagId!), signal),
    enabled: dagId !== null,
    refetchInterval: CALM_MS,
  });
}

export function useGrid(dagId: string, runs: number, before: string | null) {
  return useQuery({
    queryKey: ["grid", dagId, runs, before],
    queryFn: ({ signal }) => getJson<Grid>(`${dagPath(dagId)}/grid${queryOf({ runs, before })}`, signal),
    // Another page of the same DAG keeps the old picture until the new one is there; another DAG's would mislead.
    placeholderData: (previous) => (previous?.dagId === dagId ? previous : undefined),
    refetchInterval: LIVE_MS,
  });
}

export function useRun(dagId: string, runId: string | null) {
  return useQuery({
    queryKey: ["run", dagId, runId],
    queryFn: ({ signal }) => getJson<RunDetail>(runPath(dagId, runId!), signal),
    enabled: runId !== null,
    // A run that ended can be cleared and move again, so it is still looked at, but seldom.
    refetchInterval: ({ state }) =>
      state.data !== undefined && RUN_DONE[state.data.state] ? CALM_MS : LIVE_MS,
  });
}

export function useTries(dagId: string, runId: string, taskId: string, mapIndex: number | null) {
  return useQuery({
    queryKey: ["tries", dagId, runId, taskId, mapIndex],
    queryFn: ({ signal }) =>
      getJson<TryList>(`${taskPath(dagId, runId, taskId)}/tries${queryOf({ mapIndex })}`, signal),
    refetchInterval: LIVE_MS,
  });
}

const RUNS_A_PAGE = 50;

/** Runs of all DAGs, newest made first. */
export function useRuns(runState: RunState | null) {
  return useInfiniteQuery({
    queryKey: ["runs", runState],
    queryFn: ({ pageParam, signal }) =>
      getJson<RunList>(`/runs${queryOf({ state: runState, limit: RUNS_A_PAGE, before: pageParam })}`, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.before,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 2 ? CALM_MS : LIVE_MS),
  });
}

export function usePools() {
  return useQuery({
    queryKey: ["pools"],
    queryFn: ({ signal }) => getJson<PoolList>("/pools", signal),
    refetchInterval: LIVE_MS,
  });
}

export function useImportErrors() {
  return useQuery({
    queryKey: ["import-errors"],
    queryFn: ({ signal }) => getJson<ImportErrorList>("/import-errors", signal),
    refetchInterval: 2 * LIVE_MS,
  });
}

export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => getJson<Health>("/health", signal),
    refetchInterval: 30_000,
  });
}
