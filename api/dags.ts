import { createRoute } from "@hono/zod-openapi";
import { boundaries, describe } from "../core/calendar/timetable.ts";
import { upcoming } from "../core/calendar/upcoming.ts";
import type { SerialGraph } from "../core/graph.ts";
import { mappedOver } from "../core/mapped-over.ts";
import {
  readDag,
  readDagFacets,
  readDags,
  readGraph,
  readLastRuns,
  readVersions,
  type DagRow,
  type LastRunRow,
} from "../db/read/dags.ts";
import { dagsOf, planInputOf } from "../db/dag-rows.ts";
import {
  DagDetail,
  DagFacets,
  DagList,
  NextRuns,
  PauseState,
  type DagSummary,
  type Graph,
} from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { DagPath, dagKeyOf, DagQuery, newRoutes, NextRunsQuery, PauseBody, readDagKey } from "./requests.ts";
import { cutPage, iso, isoOrNull, json } from "./shape.ts";
import { readAdvice, readWarnings } from "./warnings.ts";

const LAST_RUNS = 10;
const VERSIONS = 100;

const listDags = createRoute({
  method: "get",
  path: "/dags",
  summary: "DAGs by id, with their last runs",
  request: { query: DagQuery },
  responses: { 200: json(DagList, "A page of DAGs") },
});
const listFacets = createRoute({
  method: "get",
  path: "/dag-facets",
  summary: "Tags and owners of the active DAGs, with how many have each",
  responses: { 200: json(DagFacets, "By name") },
});
const listNextRuns = createRoute({
  method: "get",
  path: "/dags/{dagId}/next-runs",
  summary: "Scheduled runs that are to come; none while it is paused",
  request: { params: DagPath, query: NextRunsQuery },
  responses: { 200: json(NextRuns, "Soonest first") },
});
const getDag = createRoute({
  method: "get",
  path: "/dags/{dagId}",
  summary: "A DAG with its graph and versions",
  request: { params: DagPath },
  responses: { 200: json(DagDetail, "The DAG") },
});
const pauseDag = createRoute({
  method: "post",
  path: "/dags/{dagId}/pause",
  summary: "No new scheduled runs; what runs goes on",
  request: { params: DagPath, body: { content: { "application/json": { schema: PauseBody } } } },
  responses: { 200: json(PauseState, "It is paused") },
});
const unpauseDag = createRoute({
  method: "post",
  path: "/dags/{dagId}/unpause",
  summary: "Scheduled runs begin again; what is due is made at once",
  request: { params: DagPath },
  responses: { 200: json(PauseState, "It is not paused") },
});

export const dagRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  return newRoutes()
    .openapi(listDags, async (c) => {
      const query = c.req.valid("query");
      const { sort, limit } = query;
      const filter = {
        search: query.search ?? null,
        tags: query.tag ?? null,
        allTags: query.tagMatch === "all",
        owners: query.owner ?? null,
        state: query.state ?? null,
        paused: query.paused ?? null,
        active: query.active ?? null,
        importError: query.importError ?? null,
      };
      const key = query.after === undefined ? null : readDagKey(sort, query.after);
      const { total, rows } = await readDags(db, filter, { sort, after: key, limit: limit + 1 });
      const [page, after] = cutPage(rows, limit, (row) => dagKeyOf(sort, row));
      const ids = page.map((row) => row.dag_id);
      const runs = new Map(ids.map((dagId) => [dagId, [] as LastRunRow[]]));
      for (const run of await readLastRuns(db, ids, LAST_RUNS)) runs.get(run.dag_id)!.push(run);
      const dags = page.map((row) => shapeDag(row, runs.get(row.dag_id)!));
      return c.json({ dags, total, after }, 200);
    })
    .openapi(listFacets, async (c) => {
      const rows = await readDagFacets(db);
      const of = (kind: "tag" | "owner") =>
        rows.filter((row) => row.kind === kind).map(({ name, dags }) => ({ name, dags }));
      return c.json({ tags: of("tag"), owners: of("owner") }, 200);
    })
    .openapi(listNextRuns, async (c) => {
      const { dagId } = c.req.valid("param");
      const [dag] = await dagsOf(db, [dagId]);
      if (dag === undefined || dag === null) throw noSuchDag(dagId);
      const { count } = c.req.valid("query");
      const intervals =
        dag.paused || !dag.active || dag.version === null
          ? []
          : upcoming(planInputOf(dag, Date.now()), count);
      const runs = intervals.map(({ startAt, endAt }) => ({
        logicalDate: iso(new Date(startAt)),
        interval: { start: iso(new Date(startAt)), end: iso(new Date(endAt)) },
        dueAt: iso(new Date(endAt)),
      }));
      return c.json({ runs }, 200);
    })
    .openapi(getDag, async (c) => {
      const { dagId } = c.req.valid("param");
      const row = await readDag(db, dagId);
      if (row === null) throw noSuchDag(dagId);
      const [runs, versions, graph] = await Promise.all([
        readLastRuns(db, [dagId], LAST_RUNS),
        readVersions(db, dagId, VERSIONS),
        row.version === null ? null : readGraph(db, row.version),
      ]);
      const [warnings, advice] = await Promise.all([
        readWarnings(db, [dagId]),
        row.version === null || graph === null ? [] : readAdvice(db, dagId, row.version, graph),
      ]);
      const body: DagDetail = {
        ...shapeDag(row, runs),
        file: row.file,
        graph: graph === null ? null : shapeGraph(graph),
        versionSince: isoOrNull(row.version_since),
        versionBefore: row.number_before,
        versions: versions.map(({ created_at, ...version }) => ({
          ...version,
          createdAt: iso(created_at),
          current: version.number === row.version_number,
        })),
        warnings: [...(warnings.get(dagId) ?? []), ...advice],
        uncovered: row.uncovered,
      };
      return c.json(body, 200);
    })
    .openapi(pauseDag, async (c) => {
      const { dagId } = c.req.valid("param");
      const reason = c.req.valid("json").reason ?? null;
      await deps.client.pause(dagId, c.get("who"), reason);
      return c.json({ dagId, paused: true, reason }, 200);
    })
    .openapi(unpauseDag, async (c) => {
      const { dagId } = c.req.valid("param");
      await deps.client.unpause(dagId, c.get("who"));
      return c.json({ dagId, paused: false, reason: null }, 200);
    });
};

/** Null also for a moment after a change, when a DAG is due at once to be looked at. */
function nextIntervalOf({ timetable, next_due_at: due }: DagRow): DagSummary["nextInterval"] {
  if (due === null) return null;
  const walk = boundaries(timetable);
  const startAt = walk.atOrAfter(due.getTime()) === due.getTime() ? walk.prev(due.getTime()) : null;
  return startAt === null ? null : { start: iso(new Date(startAt)), end: iso(due) };
}

const shapeDag = (row: DagRow, runs: readonly LastRunRow[]): DagSummary => ({
  dagId: row.dag_id,
  description: row.description,
  owner: row.owner,
  tags: row.tags,
  schedule: describe(row.timetable),
  paused: row.paused,
  pauseReason: row.pause_reason,
  pausedBy: row.paused_by,
  active: row.active,
  nextDueAt: isoOrNull(row.next_due_at),
  nextInterval: nextIntervalOf(row),
  version: row.version_number,
  lastRuns: runs.map((run) => ({ runId: run.run_id, state: run.state, logicalDate: iso(run.logical_at) })),
  importError: row.import_error,
});

/** Positions become ids; an edge tells which inputs it feeds. */
export function shapeGraph(graph: SerialGraph): Graph {
  const edges = graph.tasks.flatMap((task) =>
    task.upstream.map((from) => ({
      from: graph.tasks[from]!.id,
      to: task.id,
      inputs: Object.keys(task.inputs).filter((name) => task.inputs[name] === from),
    })),
  );
  const groupId = (group: number | null): string | null => (group === null ? null : graph.groups[group]!.id);
  return {
    doc: graph.doc,
    params: graph.params,
    groups: graph.groups.map((group) => ({ ...group, parent: groupId(group.parent) })),
    tasks: graph.tasks.map((task) => {
      const { upstream: _upstream, inputs: _inputs, map: _map, items: _items, ...options } = task;
      return {
        ...options,
        group: groupId(task.group),
        retryJitter: task.retryJitter ?? 0,
        retryRules: task.retryRules?.map((rule) => ({ ...rule, delayMs: rule.delayMs ?? null })) ?? [],
        mapped: mappedOver(graph, task),
        decides: task.decides ?? null,
        concurrency: task.concurrency ?? null,
        maxActivePerDag: task.maxActivePerDag ?? null,
        cores: task.cores ?? 1,
        setup: task.setup === true,
        teardown: task.teardown?.map((setup) => graph.tasks[setup]!.id) ?? null,
      };
    }),
    edges,
    timetable: graph.timetable,
    zone: graph.zone,
    startDate: graph.startDate,
    endDate: graph.endDate,
    catchup: graph.catchup,
    maxActiveRuns: graph.maxActiveRuns,
    maxActiveTasks: graph.maxActiveTasks ?? null,
    runTimeoutMs: graph.runTimeoutMs ?? null,
    runRetries: graph.runRetries ?? 0,
    runRetryDelayMs: graph.runRetryDelayMs ?? 0,
    maxFailedRuns: graph.maxFailedRuns ?? null,
  };
}
