import { createRoute } from "@hono/zod-openapi";
import { describe } from "../core/calendar/timetable.ts";
import type { SerialGraph } from "../core/graph.ts";
import {
  countDags,
  readDag,
  readDags,
  readGraph,
  readLastRuns,
  readVersions,
  type DagRow,
  type LastRunRow,
} from "../db/read/dags.ts";
import { DagDetail, DagList, PauseState, type DagSummary, type Graph } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { DagPath, DagQuery, newRoutes, PauseBody } from "./requests.ts";
import { cutPage, iso, isoOrNull, json } from "./shape.ts";
import { readWarnings } from "./warnings.ts";

const LAST_RUNS = 10;
const VERSIONS = 100;

const listDags = createRoute({
  method: "get",
  path: "/dags",
  summary: "DAGs by id, with their last runs",
  request: { query: DagQuery },
  responses: { 200: json(DagList, "A page of DAGs") },
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
      const filter = {
        search: query.search ?? null,
        tag: query.tag ?? null,
        state: query.state ?? null,
        paused: query.paused ?? null,
        active: query.active ?? null,
      };
      const [rows, total] = await Promise.all([
        readDags(db, filter, { after: query.after ?? "", limit: query.limit + 1 }),
        countDags(db, filter),
      ]);
      const [page, after] = cutPage(rows, query.limit, (row) => row.dag_id);
      const ids = page.map((row) => row.dag_id);
      const runs = new Map(ids.map((dagId) => [dagId, [] as LastRunRow[]]));
      for (const run of await readLastRuns(db, ids, LAST_RUNS)) runs.get(run.dag_id)!.push(run);
      const dags = page.map((row) => shapeDag(row, runs.get(row.dag_id)!));
      return c.json({ dags, total, after }, 200);
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
      const body: DagDetail = {
        ...shapeDag(row, runs),
        file: row.file,
        graph: graph === null ? null : shapeGraph(graph),
        versions: versions.map(({ created_at, ...version }) => ({ ...version, createdAt: iso(created_at) })),
        warnings: (await readWarnings(db, [dagId])).get(dagId) ?? [],
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
  nextInterval: null,
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
    tasks: graph.tasks.map(({ upstream: _upstream, inputs: _inputs, ...options }) => ({
      ...options,
      group: groupId(options.group),
    })),
    edges,
    timetable: graph.timetable,
    startDate: graph.startDate,
    endDate: graph.endDate,
    catchup: graph.catchup,
    maxActiveRuns: graph.maxActiveRuns,
  };
}
