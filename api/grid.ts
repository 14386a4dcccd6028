import { createHash } from "node:crypto";
import { createRoute } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { TASK_STATES, type TaskState } from "../core/states.ts";
import { readGraph } from "../db/read/dags.ts";
import { readGridRuns, type GridCellRow, type GridRunRow } from "../db/read/grid.ts";
import { Grid, type GridCell, type GridRun, type GridTask, type MappedCell } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { keepCells, keepLast } from "./grid-memory.ts";
import { DagPath, GridQuery, keyOf, newRoutes } from "./requests.ts";
import { cutPage, iso, isoOrNull, json, shapeInterval } from "./shape.ts";

const getGrid = createRoute({
  method: "get",
  path: "/dags/{dagId}/grid",
  summary: "Runs as columns, tasks as rows. Poll it with If-None-Match: 304 while nothing changed",
  request: { params: DagPath, query: GridQuery },
  responses: { 200: json(Grid, "The grid") },
});

/**
 * One statement while nothing changed: runs, each with a fingerprint of its cells. Then a second one for the cells of
 * the runs that did. Tasks of a version never change and are kept.
 */
export const gridRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  const cellsOf = keepCells(db);
  const tasksOf = keepLast(200, async (version: number) =>
    ((await readGraph(db, version))?.tasks ?? []).map((t) => ({
      id: t.id,
      upstream: [...t.upstream],
      removed: false,
    })),
  );
  return newRoutes().openapi(getGrid, async (c) => {
    const { dagId } = c.req.valid("param");
    const query = c.req.valid("query");
    const found = await readGridRuns(db, dagId, { before: query.before ?? null, limit: query.runs + 1 });
    if (found === null) throw noSuchDag(dagId);
    const { dag } = found;
    const tag = tagOf(found);
    c.header("ETag", tag);
    c.header("Cache-Control", "private, no-cache");
    // Not among the route's answers, so that a typed client's answer stays a grid.
    if (matches(c.req.header("If-None-Match"), tag)) return c.body(null, 304) as never;
    const [runs, before] = cutPage(found.runs, query.runs, keyOf);
    const [cells, current] = await Promise.all([
      cellsOf(runs),
      dag.latest === null ? [] : tasksOf(dag.latest),
    ]);
    const grid = layGrid(runs.reverse(), current, cells);
    return c.json({ dagId, paused: dag.paused, version: dag.latest_number, ...grid, before }, 200);
  });
};

const tagOf = (rows: unknown): string =>
  `"${createHash("sha1").update(JSON.stringify(rows)).digest("base64url")}"`;

/** Weak comparison, since a proxy that compresses weakens the tag. */
const matches = (given: string | undefined, tag: string): boolean =>
  given !== undefined && given.split(",").some((one) => one.trim().replace(/^W\//, "") === tag);

export const noSuchDag = (dagId: string): NotFound => new NotFound("no_dag", `dag "${dagId}" does not exist`);

const STATE_NUMBER = Object.fromEntries(TASK_STATES.map((state, i) => [state, i])) as Record<
  TaskState,
  number
>;

/** Rows: the current version's tasks, then those that only cells name. The same cells in any order give the same grid. */
export function layGrid(
  runs: readonly GridRunRow[],
  current: readonly GridTask[],
  cells: readonly GridCellRow[],
): Pick<Grid, "states" | "tasks" | "runs" | "cells" | "mapped"> {
  const place = new Map(current.map((task, i) => [task.id, i]));
  const removed = [...new Set(cells.map((cell) => cell[1]))].filter((task) => !place.has(task)).sort();
  const tasks = [...current, ...removed.map((task): GridTask => ({ id: task, upstream: [], removed: true }))];
  removed.forEach((task, i) => place.set(task, current.length + i));
  const columns = new Map(runs.map((row) => [row.run, [] as GridCell[]]));
  const mapped = new Map(runs.map((row) => [row.run, [] as MappedCell[]]));
  for (const [run, task, state, number, started, ended, count, labels] of cells) {
    const cell: GridCell = [place.get(task)!, STATE_NUMBER[state], number, started, ended];
    if (count === undefined) columns.get(run)?.push(cell);
    else mapped.get(run)?.push([...cell, count, ...(labels ?? [])]);
  }
  return {
    states: [...TASK_STATES],
    tasks,
    runs: runs.map(shapeColumn),
    cells: [...columns.values()].map((column) => column.sort((a, b) => a[0] - b[0])),
    mapped: [...mapped.values()].map((column) => column.sort((a, b) => a[0] - b[0] || a[1] - b[1])),
  };
}

const shapeColumn = (row: GridRunRow): GridRun => ({
  key: keyOf(row),
  runId: row.run_id,
  runType: row.run_type,
  state: row.state,
  logicalDate: iso(row.logical_at),
  interval: shapeInterval(row),
  startedAt: isoOrNull(row.started_at),
  endedAt: isoOrNull(row.ended_at),
  version: row.version_number,
});
