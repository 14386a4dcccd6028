/** Versions of a DAG: graph and code of one never change; its sources do when a remark is saved. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api } from "../api/api.ts";

const VERSIONS_A_PAGE = 100;
const SOURCES_MS = 30_000;

/** Newest first. `since`, when the current one was put in force, is in the key: another one asks for the list anew. */
export function useVersions(dagId: string, since: string | null) {
  return useInfiniteQuery({
    queryKey: ["versions", dagId, since],
    queryFn: ({ pageParam, signal }) =>
      api.dags.versions(dagId, { limit: VERSIONS_A_PAGE }, { signal }).page(pageParam),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.before,
    staleTime: Infinity,
  });
}

/** `number` null: none is asked for. */
export function useVersion(dagId: string, number: number | null) {
  return useQuery({
    queryKey: ["version", dagId, number],
    queryFn: ({ signal }) => api.dags.version(dagId, number!, { signal }),
    enabled: number !== null,
    staleTime: SOURCES_MS,
    refetchOnWindowFocus: false,
  });
}

/** What changed from version `from` to version `to`. */
export function useVersionDiff(dagId: string, from: number, to: number) {
  return useQuery({
    queryKey: ["version-diff", dagId, from, to],
    queryFn: ({ signal }) => api.dags.diff(dagId, from, to, { signal }),
    staleTime: SOURCES_MS,
    refetchOnWindowFocus: false,
  });
}
