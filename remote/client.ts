/** The typed client of the HTTP API: what the page, the command line and CI use. */
import type {
  Changes,
  DagDetail,
  DagFacets,
  DagFile,
  DagFileList,
  DagList,
  DagSummary,
  DagVersion,
  Grid,
  Health,
  ImportError,
  ImportErrorList,
  ListedRun,
  NextRuns,
  PauseState,
  RunDetail,
  RunList,
  TriggeredRun,
  VersionDetail,
  VersionDiff,
  VersionList,
} from "../api/contracts.ts";
import type { CommandDone, RunPriority, RunsCleared } from "../api/contracts-commands.ts";
import type { TenantList } from "../api/contracts-tenants.ts";
import type { RunState, RunType } from "../core/states.ts";
import {
  type CallOptions,
  type ChangeOptions,
  type ConnectOptions,
  Http,
  pathOf,
  type StreamOptions,
} from "./http.ts";
import { limitsCalls } from "./limits.ts";
import { dialCalls } from "./dial.ts";
import { type Pages, pagesOf } from "./pages.ts";
import { poolCalls } from "./pools.ts";
import { follow } from "./stream.ts";
import { taskCalls } from "./tasks.ts";
import type { IdsOf, TriggerArguments } from "./types.ts";
import { waitForRun, type WaitOptions } from "./wait.ts";
import { waitCalls } from "./waits.ts";

export interface DagFilter {
  /** Part of the id or the description, in any case. */
  readonly search?: string | undefined;
  readonly tag?: readonly string[] | undefined;
  /** Whether a DAG must have one of the tags or all. Default `any`. */
  readonly tagMatch?: "any" | "all" | undefined;
  /** One of these. */
  readonly owner?: readonly string[] | undefined;
  /** State of the run with the newest logical date. */
  readonly state?: RunState | undefined;
  readonly paused?: boolean | undefined;
  /** false: DAGs that no file defines any more. */
  readonly active?: boolean | undefined;
  readonly importError?: boolean | undefined;
  /** A `-` turns the order round. Default `dagId`. */
  readonly sort?: "dagId" | "-dagId" | "nextDueAt" | "-nextDueAt" | undefined;
  /** Size of a page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
}

export interface RunFilter {
  readonly state?: readonly RunState[] | undefined;
  readonly type?: readonly RunType[] | undefined;
  /** Part of the DAG's or the run's id, in any case. */
  readonly search?: string | undefined;
  /** Logical dates from here on. */
  readonly from?: Date | string | undefined;
  /** Logical dates before this. */
  readonly until?: Date | string | undefined;
  /** Runs that began from here on, of those made at most 92 days before. */
  readonly startedFrom?: Date | string | undefined;
  /** Runs that began before this. */
  readonly startedUntil?: Date | string | undefined;
  /** Tell of each run that is running or failed how its tasks stand. */
  readonly tasks?: boolean | undefined;
  /** A `-`: newest first, which is the default. Of one DAG by logical date, of all by their making. */
  readonly sort?: "date" | "-date" | undefined;
  /** Size of a page, 1 to 1000. Default 100. */
  readonly limit?: number | undefined;
}

export interface FileFilter {
  readonly search?: string | undefined;
  readonly withError?: boolean | undefined;
  readonly limit?: number | undefined;
}

export interface TriggerOptions extends ChangeOptions {
  /** Default: now. */
  readonly logicalDate?: Date | string | undefined;
}

/** `changes` null: some may have been missed, ask for everything anew. `id` goes on from here after a break. */
export interface LiveEvent {
  readonly id: string | null;
  readonly changes: Changes | null;
}

export type Client<Dags = Readonly<Record<never, never>>> = ReturnType<typeof createClient<Dags>>;

/**
 * A client of the API at `url`. A request that does not get through, or is told to come later (429 within 5 s, 503), is sent
 * again, a change with the same idempotency key. What is refused is thrown as `ApiError`; match on its `code`. Of kind
 * `limited` (429) it says in `retryAfterMs` when the same may be asked again.
 *
 * @example
 * import * as dags from "./dags/sales.ts";
 * const client = createClient<typeof dags>({ url: "http://127.0.0.1:8080" });
 * const { dagId, runId } = await client.trigger("sales_daily", { region: "eu" });
 * const run = await client.runs.wait(dagId, runId);
 * console.log(run.state);
 */
export function createClient<Dags = Readonly<Record<never, never>>>(options: ConnectOptions) {
  const http = new Http(options);
  const events = eventsOf(http);
  return {
    /** The address it talks to, without a slash at its end; the page stands there too. */
    url: http.url,
    /** Starts a run by hand. Params that do not fit the DAG's schema are refused before a run is made. */
    trigger: async <Id extends IdsOf<Dags>>(
      dagId: Id,
      ...[params, more = {}]: TriggerArguments<Dags, Id, TriggerOptions>
    ): Promise<TriggeredRun> => {
      const { logicalDate, ...call } = more as TriggerOptions;
      const body = {
        conf: params ?? {},
        ...(logicalDate !== undefined && { logicalDate: instant(logicalDate) }),
      };
      return await http.json(pathOf("dags", dagId, "runs"), { ...call, method: "POST", body });
    },
    dags: dagCalls(http),
    runs: runCalls(http, events),
    tasks: taskCalls(http),
    waits: waitCalls(http),
    pools: poolCalls(http),
    limits: limitsCalls(http),
    /** What is whose, what they use, and who lends to whom. */
    tenants: async (call: CallOptions = {}): Promise<TenantList> => await http.json("/tenants", call),
    dial: dialCalls(http),
    files: {
      list: (filter: FileFilter = {}, call: CallOptions = {}): Pages<DagFile, DagFileList> =>
        pagesOf(
          async (after) => await http.json<DagFileList>("/files", { ...call, query: { ...filter, after } }),
          (page) => ({ items: page.files, next: page.after }),
        ),
      importErrors: async (call: CallOptions = {}): Promise<ImportError[]> =>
        (await http.json<ImportErrorList>("/import-errors", call)).errors,
    },
    /** Also answers when the database is away. */
    health: async (call: CallOptions = {}): Promise<Health> =>
      await http.json("/health", { ...call, also: isHealth }),
    /**
     * What changes, as it changes: of one DAG its runs and cells, of all DAGs their runs. The first event comes at
     * once: ask then for what is shown. Ends with the signal, or when the loop over it is left.
     */
    events,
  };
}

/** What stands before the API may answer 503 too, and with JSON of its own. */
const isHealth = (status: number, data: unknown): boolean =>
  status === 503 && typeof data === "object" && data !== null && "temporal" in data && "database" in data;

const instant = (value: Date | string): string => (typeof value === "string" ? value : value.toISOString());
const instants = ({ from, until, startedFrom, startedUntil, ...rest }: RunFilter): object => ({
  ...rest,
  ...(from !== undefined && { from: instant(from) }),
  ...(until !== undefined && { until: instant(until) }),
  ...(startedFrom !== undefined && { startedFrom: instant(startedFrom) }),
  ...(startedUntil !== undefined && { startedUntil: instant(startedUntil) }),
});

const eventsOf = (http: Http) =>
  async function* (
    which: StreamOptions & { readonly dagId?: string | undefined; readonly lastEventId?: string } = {},
  ): AsyncGenerator<LiveEvent, void, undefined> {
    const { dagId, ...call } = which;
    for await (const { event, id, data } of follow(http, "/events", { ...call, query: { dag: dagId } })) {
      if (event === "changes") yield { id, changes: JSON.parse(data) as Changes };
      if (event === "reload") yield { id, changes: null };
    }
  };

const dagCalls = (http: Http) => ({
  list: (filter: DagFilter = {}, call: CallOptions = {}): Pages<DagSummary, DagList> =>
    pagesOf(
      async (after) => await http.json<DagList>("/dags", { ...call, query: { ...filter, after } }),
      (page) => ({ items: page.dags, next: page.after }),
    ),
  get: async (dagId: string, call: CallOptions = {}): Promise<DagDetail> =>
    await http.json(pathOf("dags", dagId), call),
  /** Tags and owners of the active DAGs. */
  facets: async (call: CallOptions = {}): Promise<DagFacets> => await http.json("/dag-facets", call),
  pause: async (
    dagId: string,
    more: ChangeOptions & { readonly reason?: string | undefined } = {},
  ): Promise<PauseState> => {
    const { reason, ...call } = more;
    const body = reason === undefined ? {} : { reason };
    return await http.json(pathOf("dags", dagId, "pause"), { ...call, method: "POST", body });
  },
  unpause: async (dagId: string, call: ChangeOptions = {}): Promise<PauseState> =>
    await http.json(pathOf("dags", dagId, "unpause"), { ...call, method: "POST" }),
  /** Runs as columns, tasks as rows. `before`: the one of the page after which to go on. */
  grid: async (
    dagId: string,
    query: { readonly runs?: number; readonly before?: string | null } = {},
    call: CallOptions = {},
  ): Promise<Grid> => await http.json(pathOf("dags", dagId, "grid"), { ...call, query }),
  /** Runs that are to come. */
  nextRuns: async (
    dagId: string,
    query: { readonly count?: number } = {},
    call: CallOptions = {},
  ): Promise<NextRuns> => await http.json(pathOf("dags", dagId, "next-runs"), { ...call, query }),
  versions: (
    dagId: string,
    query: { readonly limit?: number } = {},
    call: CallOptions = {},
  ): Pages<DagVersion, VersionList> =>
    pagesOf(
      async (before) =>
        await http.json<VersionList>(pathOf("dags", dagId, "versions"), {
          ...call,
          query: { ...query, before },
        }),
      (page) => ({ items: page.versions, next: page.before }),
    ),
  version: async (dagId: string, number: number, call: CallOptions = {}): Promise<VersionDetail> =>
    await http.json(pathOf("dags", dagId, "versions", number), call),
  /** What changed from one version to another. */
  diff: async (dagId: string, from: number, to: number, call: CallOptions = {}): Promise<VersionDiff> =>
    await http.json(pathOf("dags", dagId, "versions", from, "diff", to), call),
});

const runCalls = (http: Http, events: ReturnType<typeof eventsOf>) => {
  const get = async (dagId: string, runId: string, call: CallOptions = {}): Promise<RunDetail> =>
    await http.json(pathOf("dags", dagId, "runs", runId), call);
  return {
    get,
    /** Of one DAG, or of all. */
    list: (
      filter: RunFilter & { readonly dagId?: string | undefined } = {},
      call: CallOptions = {},
    ): Pages<ListedRun, RunList> => {
      const { dagId, state, type, ...rest } = filter;
      const query = { ...instants(rest), state: state?.join(","), type: type?.join(",") };
      const path = dagId === undefined ? "/runs" : pathOf("dags", dagId, "runs");
      return pagesOf(
        async (before) => await http.json<RunList>(path, { ...call, query: { ...query, before } }),
        (page) => ({ items: page.runs, next: page.before }),
      );
    },
    ...commandCalls(http),
    /** The run once it has ended, however it ended. */
    wait: async (dagId: string, runId: string, options: WaitOptions = {}): Promise<RunDetail> =>
      await waitForRun(
        async (signal) => await get(dagId, runId, { signal }),
        (signal) => events({ dagId, signal }),
        { dagId, runId },
        options,
      ),
  };
};

/** Which cells of a run; tasks and groups left out: the whole run. */
export interface CellSelection {
  readonly tasks?: readonly { readonly taskId: string; readonly mapIndex?: number | undefined }[] | undefined;
  /** All tasks of these groups. */
  readonly groups?: readonly string[] | undefined;
  /** What they wait for, too. */
  readonly upstream?: boolean | undefined;
  /** What waits for them, too. */
  readonly downstream?: boolean | undefined;
  /** Of all that, only what failed or could not run. */
  readonly onlyFailed?: boolean | undefined;
  /** Only say what it would be. */
  readonly dryRun?: boolean | undefined;
}

export interface ClearSelection extends CellSelection {
  /** Whether the run keeps its version, the default, or goes on with the one that is in force: only once it is over. */
  readonly version?: "original" | "latest" | undefined;
}

/** Each is sure to happen once it is answered; an ApiError of kind `conflict` says what stands against it. */
const commandCalls = (http: Http) => {
  const send = async (dagId: string, runId: string, what: string, body: object, call: ChangeOptions) =>
    await http.json<CommandDone>(`${pathOf("dags", dagId, "runs", runId)}/${what}`, {
      ...call,
      method: "POST",
      body,
    });
  return {
    /** Runs tasks again, while the run goes on or after its end. */
    clear: async (dagId: string, runId: string, cells: ClearSelection = {}, call: ChangeOptions = {}) =>
      await send(dagId, runId, "clear", cells, call),
    /** The same for all runs of a DAG with logical dates in a range, oldest first; each says what became of it. */
    clearRange: async (
      dagId: string,
      range: { readonly from: Date | string; readonly until: Date | string },
      cells: ClearSelection = {},
      call: ChangeOptions = {},
    ): Promise<RunsCleared> => {
      const body = { from: instant(range.from), until: instant(range.until), ...cells };
      return await http.json(`${pathOf("dags", dagId)}/clear`, { ...call, method: "POST", body });
    },
    /** Counts tasks as success, failed or skipped; what runs of them is stopped. */
    mark: async (
      dagId: string,
      runId: string,
      as: "success" | "failed" | "skipped",
      cells: CellSelection = {},
      call: ChangeOptions = {},
    ) => await send(dagId, runId, "mark", { as, ...cells }, call),
    /** Moves what a run waits with by so much (0: as it was made), and all that it asks for later. */
    priority: async (
      dagId: string,
      runId: string,
      priority: number,
      call: ChangeOptions = {},
    ): Promise<RunPriority> =>
      await http.json(`${pathOf("dags", dagId, "runs", runId)}/priority`, {
        ...call,
        method: "POST",
        body: { priority },
      }),
    /** Ends a run before its time; teardowns whose setups succeeded still run. */
    end: async (
      dagId: string,
      runId: string,
      more: ChangeOptions & { readonly as: "cancelled" | "failed"; readonly reason?: string | undefined },
    ) => {
      const { as, reason, ...call } = more;
      return await send(dagId, runId, "end", { as, ...(reason !== undefined && { reason }) }, call);
    },
  };
};
