import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { api } from "../api/api.ts";
import { pollMs } from "../api/live.ts";

const FILES_A_PAGE = 100;
const LOOK_MS = 3000;
/** Every page read so far is read again, so a long list is looked at less often. */
const LONG_MS = 15_000;

/** DAG files by path. */
export function useFiles(search: string, withError: boolean) {
  return useInfiniteQuery({
    queryKey: ["files", search, withError],
    queryFn: ({ pageParam, signal }) => {
      const filter = {
        search: search === "" ? undefined : search,
        withError: withError ? true : undefined,
        limit: FILES_A_PAGE,
      };
      return api.files.list(filter, { signal }).page(pageParam);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 2 ? LONG_MS : pollMs(LOOK_MS)),
  });
}
