import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { DagFileList } from "../../../api/contracts.ts";
import { getJson, queryOf } from "../api/fetch.ts";

const FILES_A_PAGE = 100;
const LOOK_MS = 3000;
/** Every page read so far is read again, so a long list is looked at less often. */
const LONG_MS = 15_000;

/** DAG files by path. */
export function useFiles(search: string, withError: boolean) {
  return useInfiniteQuery({
    queryKey: ["files", search, withError],
    queryFn: ({ pageParam, signal }) => {
      const query = queryOf({
        search,
        withError: withError ? "true" : null,
        limit: FILES_A_PAGE,
        after: pageParam,
      });
      return getJson<DagFileList>(`/files${query}`, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 2 ? LONG_MS : LOOK_MS),
  });
}
