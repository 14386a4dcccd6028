/** Puts changes into what the page has read. Grids and lists are patched, since they are large; the rest is read again. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type {
  Changes,
  DagList,
  DagSummary,
  LastRun,
  Run,
  RunDetail,
  RunList,
} from "../../../api/contracts.ts";
import { withChanges, type GridData } from "../grid/data.ts";

/** An answer on its way may be older than a change that came meanwhile: it is corrected by these. */
const recent: { readonly at: number; readonly changes: Changes }[] = [];
/** Longer than any answer takes that is not given up. */
const KEEP_MS = 20_000;

export function changesSince(at: number): readonly Changes[] {
  return recent.filter((one) => one.at >= at).map((one) => one.changes);
}

export function applyChanges(client: QueryClient, changes: Changes): void {
  const now = Date.now();
  recent.push({ at: now, changes });
  while (recent[0] !== undefined && recent[0].at < now - KEEP_MS) recent.shift();

  const touched = new Set([
    ...changes.runs.map((run) => run.dagId),
    ...changes.cells.map((cells) => cells.dagId),
  ]);
  for (const dagId of touched) {
    client.setQueriesData<GridData>({ queryKey: ["grid", dagId] }, (data) =>
      data === undefined ? undefined : withChanges(data, changes),
    );
  }
  patchRuns(client, changes);
  if (changes.runs.length > 0) {
    const byDag = new Map<string, Run[]>();
    for (const run of changes.runs) byDag.set(run.dagId, [...(byDag.get(run.dagId) ?? []), run]);
    patchPages<DagList>(client, ["dags"], (page) => withLastRuns(page, byDag));
    const byKey = new Map(changes.runs.map((run) => [run.key, run]));
    patchPages<RunList>(client, ["runs"], (page) => withRuns(page, byKey));
    // Whether a run belongs on a list, and what is due next, only the API knows.
    readSoon(client, ["runs"]);
    readSoon(client, ["dags"]);
  }
  for (const { dagId, runId, cells } of changes.cells) {
    readSoon(client, ["run", dagId, runId]);
    readSoon(client, ["run-waits", dagId, runId]);
    for (const cell of cells) readSoon(client, ["tries", dagId, runId, cell.taskId]);
    if (cells.some((cell) => cell.mapIndex >= 0)) readSoon(client, ["grid", dagId]);
  }
  for (const run of changes.runs) {
    readSoon(client, ["run", run.dagId, run.runId]);
    readSoon(client, ["dag", run.dagId]);
  }
  for (const dagId of changes.dags) {
    readSoon(client, ["dag", dagId]);
    readSoon(client, ["grid", dagId]);
  }
  if (changes.dags.length > 0) readSoon(client, ["dags"]);
  // Seldom, and everybody waits for it.
  if (changes.dial === true) void client.invalidateQueries({ queryKey: ["dial"] });
}

/** The open run's state and cells at once; why tasks wait follows with the next reading. */
function patchRuns(client: QueryClient, changes: Changes): void {
  const put = (dagId: string, runId: string, patch: (run: RunDetail) => RunDetail): void => {
    client.setQueryData<RunDetail>(["run", dagId, runId], (run) =>
      run === undefined ? undefined : patch(run),
    );
  };
  for (const run of changes.runs) put(run.dagId, run.runId, (old) => ({ ...old, ...run }));
  for (const { dagId, runId, cells } of changes.cells) {
    put(dagId, runId, (old) => {
      const name = (cell: { taskId: string; mapIndex: number }): string => `${cell.mapIndex} ${cell.taskId}`;
      const changed = new Map(cells.map((cell) => [name(cell), cell]));
      const kept = old.cells.map((cell) => {
        const next = changed.get(name(cell));
        changed.delete(name(cell));
        return next ?? cell;
      });
      return { ...old, cells: [...kept, ...changed.values()] };
    });
  }
}

function patchPages<T extends object>(
  client: QueryClient,
  key: readonly string[],
  patch: (page: T) => T,
): void {
  client.setQueriesData<InfiniteData<T>>({ queryKey: key }, (data) => {
    if (data === undefined || !("pages" in data)) return data;
    const pages = data.pages.map(patch);
    return pages.every((page, at) => page === data.pages[at]) ? data : { ...data, pages };
  });
}

function withLastRuns(page: DagList, runs: ReadonlyMap<string, readonly Run[]>): DagList {
  const dags = page.dags.map((dag) => {
    const changed = runs.get(dag.dagId);
    return changed === undefined ? dag : withRunsOf(dag, changed);
  });
  return dags.every((dag, at) => dag === page.dags[at]) ? page : { ...page, dags };
}

/** As many as the API gives. */
const RUNS_SHOWN = 10;

/** Newest last, by logical date. */
function withRunsOf(dag: DagSummary, changed: readonly Run[]): DagSummary {
  const byId = new Map<string, LastRun>(dag.lastRuns.map((run) => [run.runId, run]));
  for (const { runId, state, logicalDate } of changed) byId.set(runId, { runId, state, logicalDate });
  const lastRuns = [...byId.values()]
    .toSorted((a, b) => Date.parse(a.logicalDate) - Date.parse(b.logicalDate))
    .slice(-RUNS_SHOWN);
  return { ...dag, lastRuns };
}

function withRuns(page: RunList, changed: ReadonlyMap<string, Run>): RunList {
  const runs = page.runs.map((run) => {
    const next = changed.get(run.key);
    return next === undefined ? run : { ...run, ...next };
  });
  return runs.every((run, at) => run === page.runs[at]) ? page : { ...page, runs };
}

/** Changes come many a second: what they make stale is read again once things have calmed down a little. */
const SOON_MS = 400;
const asked = new Set<string>();

function readSoon(client: QueryClient, queryKey: readonly string[]): void {
  const key = JSON.stringify(queryKey);
  if (asked.has(key)) return;
  asked.add(key);
  setTimeout(() => {
    asked.delete(key);
    void client.invalidateQueries({ queryKey, predicate: (query) => !isLong(query.state.data) });
  }, SOON_MS);
}

/** A list scrolled through for many pages would be read again page by page: its patches must do. */
const LONG_PAGES = 2;

function isLong(data: unknown): boolean {
  return (
    typeof data === "object" &&
    data !== null &&
    "pages" in data &&
    Array.isArray(data.pages) &&
    data.pages.length > LONG_PAGES
  );
}
