/** Versions of a DAG: one that was stored never changes, so it is read once. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api } from "../api/api.ts";

const VERSIONS_A_PAGE = 100;

/** Newest first. `current` is in the key: a new version asks for the list anew. */
export function useVersions(dagId: string, current: number | null) {
  return useInfiniteQuery({
    queryKey: ["versions", dagId, current],
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
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}

/** What changed from version `from` to version `to`. */
export function useVersionDiff(dagId: string, from: number, to: number) {
  return useQuery({
    queryKey: ["version-diff", dagId, from, to],
    queryFn: ({ signal }) => api.dags.diff(dagId, from, to, { signal }),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
}
