import { createRoute } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { readTaskState, readTaskWaiting, readTries, readTry, type TryRow } from "../db/read/tries.ts";
import { LogPiece, TryList, type Try } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { LogQuery, newRoutes, TaskPath, TriesQuery, TryPath } from "./requests.ts";
import { findRun } from "./runs.ts";
import { isoOrNull, json, shapeWaiting } from "./shape.ts";

const listTries = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries",
  summary: "Every try of a task in a run, and why the next one waits",
  request: { params: TaskPath, query: TriesQuery },
  responses: { 200: json(TryList, "The tries") },
});
const readLog = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/log",
  summary: "The log of a try from a byte offset on",
  request: { params: TryPath, query: LogQuery },
  responses: { 200: json(LogPiece, "A piece of the log") },
});

export const tryRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  return newRoutes()
    .openapi(listTries, async (c) => {
      const { dagId, runId, taskId } = c.req.valid("param");
      const { mapIndex } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const key = { run, taskId, mapIndex };
      const [state, tries, waiting] = await Promise.all([
        readTaskState(db, key),
        readTries(db, key),
        readTaskWaiting(db, key),
      ]);
      if (state === null) {
        const task = mapIndex === -1 ? `"${taskId}"` : `"${taskId}" [${mapIndex}]`;
        throw new NotFound("no_task", `run "${runId}" of dag "${dagId}" has no task ${task}`);
      }
      const body: TryList = {
        taskId,
        mapIndex,
        state,
        tries: tries.map(shapeTry),
        waiting: waiting === null ? null : shapeWaiting(waiting),
      };
      return c.json(body, 200);
    })
    .openapi(readLog, async (c) => {
      const { dagId, runId, taskId, try: number } = c.req.valid("param");
      const { mapIndex, offset } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const row = await readTry(db, { run, taskId, mapIndex }, number);
      if (row === null) {
        throw new NotFound("no_try", `task "${taskId}" of run "${runId}" has no try ${number}`);
      }
      const piece = await deps.logs.read({ dagId, runId, taskId, mapIndex, try: number }, offset);
      // The row was read first, so a try that had ended by then has nothing more to add.
      return c.json({ ...piece, done: piece.done && row.state !== "running" }, 200);
    });
};

const shapeTry = (row: TryRow): Try => ({
  try: row.try,
  state: row.state,
  worker: row.worker,
  queuedAt: isoOrNull(row.queued_at),
  startedAt: isoOrNull(row.started_at),
  endedAt: isoOrNull(row.ended_at),
  error: row.error === null ? null : shapeError(row.error),
  output: row.output,
  stored: null,
});

const shapeError = (error: NonNullable<TryRow["error"]>): NonNullable<Try["error"]> => ({
  code: error.code,
  message: error.message,
  ...(error.stack === undefined ? {} : { stack: error.stack }),
});
