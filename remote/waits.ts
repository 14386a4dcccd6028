/** Waits: tasks that hold no slot until something comes. */
import type { Wait, WaitEnded, WaitList, WaitPoked } from "../api/contracts-waits.ts";
import type { WaitKind } from "../core/why-deferred.ts";
import { type CallOptions, type ChangeOptions, type Http, pathOf } from "./http.ts";
import { type Pages, pagesOf } from "./pages.ts";
import type { TaskOf } from "./tasks.ts";

export interface WaitFilter {
  readonly dagId?: string | undefined;
  readonly taskId?: string | undefined;
  /** One of these. */
  readonly kind?: readonly WaitKind[] | undefined;
  /** Part of the DAG's, the run's or the task's id. */
  readonly search?: string | undefined;
  /** Size of a page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
}

export const waitCalls = (http: Http) => {
  const pagesAt = (path: string, query: object, call: CallOptions): Pages<Wait, WaitList> =>
    pagesOf(
      async (after) => await http.json<WaitList>(path, { ...call, query: { ...query, after } }),
      (page) => ({ items: page.waits, next: page.after }),
    );
  const pathTo = ({ dagId, runId, taskId }: TaskOf): string =>
    pathOf("dags", dagId, "runs", runId, "waits", taskId);
  return {
    /** What waits now, over all runs, those of the oldest run first. */
    list: (filter: WaitFilter = {}, call: CallOptions = {}): Pages<Wait, WaitList> =>
      pagesAt("/waits", { ...filter, kind: filter.kind?.join(",") }, call),
    /** What tasks of a run wait for, or have waited for, with the addresses of what somebody may end. */
    ofRun: (
      dagId: string,
      runId: string,
      query: { readonly limit?: number | undefined } = {},
      call: CallOptions = {},
    ): Pages<Wait, WaitList> => pagesAt(pathOf("dags", dagId, "runs", runId, "waits"), query, call),
    /**
     * Ends what a task waits for, also ahead of its beginning; one alone of any number of callers does. The others get
     * an ApiError `already_ended`, those who come after its time-out `too_late`.
     */
    end: async (of: TaskOf, payload: unknown = null, call: ChangeOptions = {}): Promise<WaitEnded> =>
      await http.json(pathTo(of), {
        ...call,
        method: "POST",
        query: { mapIndex: of.mapIndex },
        body: { payload },
      }),
    /** Has a sensor, or a wait for another run, checked now. */
    poke: async (of: TaskOf, call: ChangeOptions = {}): Promise<WaitPoked> =>
      await http.json(`${pathTo(of)}/poke`, { ...call, method: "POST", query: { mapIndex: of.mapIndex } }),
  };
};
