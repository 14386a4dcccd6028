import { createRoute, type z } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { workflowIdOf } from "../core/ids.ts";
import type { RunState } from "../core/states.ts";
import type { Db } from "../db/connection.ts";
import { readDag } from "../db/read/dags.ts";
import {
  readCells,
  readDagRuns,
  readRun,
  readRuns,
  readRunTasks,
  readWaiting,
  type RunDetailRow,
  type RunFilter,
  type RunPage,
  type RunRow,
} from "../db/read/runs.ts";
import { readDeferred } from "../db/read/waits.ts";
import { RunDetail, RunList, TriggeredRun } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { DagPath, keyOf, namedRun, newRoutes, RunPath, RunQuery, TriggerBody } from "./requests.ts";
import { cutPage, json, shapeCell, shapeRun, shapeRunTasks, shapeWaiting, temporalUrl } from "./shape.ts";

const WAITING = 1000;

const listRuns = createRoute({
  method: "get",
  path: "/runs",
  summary: "Runs of all DAGs, newest made first unless sorted otherwise",
  request: { query: RunQuery },
  responses: { 200: json(RunList, "A page of runs") },
});
const listDagRuns = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs",
  summary: "Runs of a DAG, newest logical date first unless sorted otherwise",
  request: { params: DagPath, query: RunQuery },
  responses: { 200: json(RunList, "A page of runs") },
});
const triggerRun = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs",
  summary: "Start a run by hand. 409 names the run that has this logical date already",
  request: { params: DagPath, body: { content: { "application/json": { schema: TriggerBody } } } },
  responses: { 201: json(TriggeredRun, "It is made") },
});
const getRun = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}",
  summary: "A run with its cells and what it waits for",
  request: { params: RunPath },
  responses: { 200: json(RunDetail, "The run") },
});

export const runRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  return newRoutes()
    .openapi(listRuns, async (c) => {
      const query = c.req.valid("query");
      const rows = await readRuns(db, filterOf(query), pageOf(query));
      return c.json(await listOf(db, rows, query), 200);
    })
    .openapi(listDagRuns, async (c) => {
      const { dagId } = c.req.valid("param");
      const query = c.req.valid("query");
      const rows = await readDagRuns(db, dagId, filterOf(query), pageOf(query));
      if (rows.length === 0 && (await readDag(db, dagId)) === null) throw noSuchDag(dagId);
      return c.json(await listOf(db, rows, query), 200);
    })
    .openapi(triggerRun, async (c) => {
      const { dagId } = c.req.valid("param");
      const { logicalDate, conf } = c.req.valid("json");
      const run = await deps.client.trigger({
        dagId,
        logicalAt: logicalDate ?? null,
        conf: conf ?? {},
        who: c.get("who"),
        once: c.get("claim"),
      });
      const body: TriggeredRun = {
        dagId,
        runId: run.runId,
        state: run.state,
        workflowId: workflowIdOf(dagId, run.runId),
        temporalUrl: temporalUrl(deps.temporalWeb, dagId, run.runId),
      };
      return c.json(body, 201);
    })
    .openapi(getRun, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const row = await findRun(db, dagId, runId);
      const [cells, asked, deferred] = await Promise.all([
        readCells(db, row.run),
        readWaiting(db, row.run, WAITING),
        readDeferred(db, row.run, WAITING),
      ]);
      const body: RunDetail = {
        ...shapeRun(row),
        conf: row.conf,
        priority: row.priority,
        cells: cells.map(shapeCell),
        waiting: [...asked, ...deferred].map(shapeWaiting),
        workflowId: workflowIdOf(dagId, runId),
        temporalUrl: temporalUrl(deps.temporalWeb, dagId, runId),
      };
      return c.json(body, 200);
    });
};

type RunQueryOf = z.infer<typeof RunQuery>;

const filterOf = ({ state, type, search, ...dates }: RunQueryOf): RunFilter => ({
  states: state ?? null,
  types: type ?? null,
  search: search ?? null,
  from: dates.from ?? null,
  until: dates.until ?? null,
  startedFrom: dates.startedFrom ?? null,
  startedUntil: dates.startedUntil ?? null,
});

/** One more than a page shows, which says whether there is another. */
const pageOf = ({ sort, before, limit }: RunQueryOf): RunPage => ({
  key: before ?? null,
  up: sort === "date",
  limit: limit + 1,
});

/** Of what runs or failed one wants to know which tasks it waits for, or which failed. */
const TOLD: ReadonlySet<RunState> = new Set(["running", "failed"]);

async function listOf(
  db: Db,
  rows: readonly RunRow[],
  { limit, tasks }: Pick<RunQueryOf, "limit" | "tasks">,
): Promise<RunList> {
  const [page, before] = cutPage(rows, limit, keyOf);
  const asked = tasks ? page.filter((row) => TOLD.has(row.state)).map((row) => row.run) : [];
  const told = new Map((await readRunTasks(db, asked)).map((row) => [row.run, shapeRunTasks(row)]));
  return { runs: page.map((row) => ({ ...shapeRun(row), tasks: told.get(row.run) ?? null })), before };
}

export async function findRun(db: Db, dagId: string, runId: string): Promise<RunDetailRow> {
  const row = await readRun(db, dagId, namedRun(runId));
  if (row === null) throw new NotFound("no_run", `dag "${dagId}" has no run "${runId}"`);
  return row;
}
