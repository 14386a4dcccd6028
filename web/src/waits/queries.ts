/** Reads and changes of waits. */
import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { TaskOf } from "../../../remote/tasks.ts";
import { api } from "../api/api.ts";
import { pollMs } from "../api/live.ts";
import type { WaitListView } from "../routing/route.ts";

/** No event tells of waits beyond the DAG that is open: an end is to be seen within about a second. */
const LIVE_MS = 1000;
const CALM_MS = 5000;
const WAITS_A_PAGE = 100;
/** A list scrolled further is not read again page by page. */
const PAGES_POLLED = 2;

/** What waits now, that of the oldest run first. */
export function useOpenWaits({ search, dagId, kind }: WaitListView) {
  return useInfiniteQuery({
    queryKey: ["waits", search, dagId, kind],
    queryFn: ({ pageParam, signal }) => {
      const filter = {
        search: search === "" ? undefined : search,
        dagId: dagId ?? undefined,
        kind: kind === null ? undefined : [kind],
        limit: WAITS_A_PAGE,
      };
      return api.waits.list(filter, { signal }).page(pageParam);
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.after,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      (state.data?.pages.length ?? 1) > PAGES_POLLED ? false : pollMs(LIVE_MS),
  });
}

/** As many as the API gives at once: what a chart has room for. */
const RUN_WAITS = 1000;

/** What tasks of a run wait for, or have waited for. */
export function useRunWaits(dagId: string, runId: string, isOver: boolean) {
  return useQuery({
    queryKey: ["run-waits", dagId, runId],
    queryFn: async ({ signal }) =>
      (await api.waits.ofRun(dagId, runId, { limit: RUN_WAITS }, { signal }).page(null)).waits,
    // The stream tells when one has begun or ended.
    refetchInterval: () => !isOver && pollMs(LIVE_MS, CALM_MS),
  });
}

export interface EndWish {
  readonly of: TaskOf;
  readonly payload: unknown;
  readonly idempotencyKey: string;
}

export function useEndWait() {
  const seen = useSeen();
  return useMutation({
    mutationFn: ({ of, payload, idempotencyKey }: EndWish) => api.waits.end(of, payload, { idempotencyKey }),
    // What stands against it shows there, too.
    onSettled: (_answer, _error, { of }) => seen(of),
  });
}

export function useCheckWait() {
  const seen = useSeen();
  return useMutation({
    mutationFn: (of: TaskOf) => api.waits.poke(of),
    onSettled: (_answer, _error, of) => seen(of),
  });
}

function useSeen() {
  const client = useQueryClient();
  return ({ dagId, runId, taskId }: TaskOf) =>
    Promise.all([
      client.invalidateQueries({ queryKey: ["tries", dagId, runId, taskId] }),
      client.invalidateQueries({ queryKey: ["run", dagId, runId] }),
      client.invalidateQueries({ queryKey: ["run-waits", dagId, runId] }),
      client.invalidateQueries({ queryKey: ["waits"] }),
    ]);
}
