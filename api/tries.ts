import { Readable } from "node:stream";
import { createRoute, z } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import type { Db } from "../db/connection.ts";
import {
  readTaskState,
  readTaskWaiting,
  readTries,
  readTry,
  readWaited,
  type TaskKey,
  type TryRow,
  type WaitedRow,
} from "../db/read/tries.ts";
import { readTaskDeferred, readTaskWaits, type WaitRow } from "../db/read/waits.ts";
import { LogPiece, TryList, type Try } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { LogQuery, newRoutes, TaskPath, TriesQuery, TryPath } from "./requests.ts";
import { findRun } from "./runs.ts";
import { iso, isoOrNull, isUnderWay, json, shapeWaiting } from "./shape.ts";
import { shapeTryWait, waitUrls } from "./waits.ts";

/** Of a task's waits, and of its reasons to wait for slots, the last so many. */
const HELD = 1000;

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

const readOutput = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/output",
  summary: "What a try returned, as JSON, whatever its size",
  request: { params: TryPath, query: TriesQuery },
  responses: { 200: json(z.unknown(), "The output") },
});

export const tryRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  const urlsFor = waitUrls(deps);
  return newRoutes()
    .openapi(listTries, async (c) => {
      const { dagId, runId, taskId } = c.req.valid("param");
      const { mapIndex } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const key = { run, taskId, mapIndex };
      const [state, tries, asked, deferred, waited, waits] = await Promise.all([
        readTaskState(db, key),
        readTries(db, key),
        readTaskWaiting(db, key),
        readTaskDeferred(db, key),
        readWaited(db, key, HELD),
        readTaskWaits(db, key, HELD),
      ]);
      const waiting = asked ?? deferred;
      if (state === null) {
        const task = mapIndex === -1 ? `"${taskId}"` : `"${taskId}" [${mapIndex}]`;
        throw new NotFound("no_task", `run "${runId}" of dag "${dagId}" has no task ${task}`);
      }
      const heldOf = heldIn(waited, waits, await urlsFor(waits, c.req.url));
      const begun = new Set(tries.map((row) => row.try));
      const notBegun = new Set([...waited, ...waits].map((row) => row.try).filter((one) => !begun.has(one)));
      const body: TryList = {
        taskId,
        mapIndex,
        state,
        tries: tries.map((row) => ({
          ...shapeTry(row, outputHref(c.req.valid("param"), row.try, mapIndex)),
          ...heldOf(row.try),
        })),
        notBegun: [...notBegun].sort((a, b) => a - b).map((one) => ({ try: one, ...heldOf(one) })),
        waiting: waiting === null ? null : shapeWaiting(waiting),
      };
      return c.json(body, 200);
    })
    .openapi(readLog, async (c) => {
      const { dagId, runId, taskId, try: number } = c.req.valid("param");
      const { mapIndex, offset } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const row = await findTry(db, { run, taskId, mapIndex }, number, runId);
      const piece = await deps.logs.read({ dagId, runId, taskId, mapIndex, try: number }, offset);
      // The row was read first, so a try that had ended by then has nothing more to add.
      return c.json({ ...piece, done: piece.done && !isUnderWay(row.state) }, 200);
    })
    .openapi(readOutput, async (c) => {
      const { dagId, runId, taskId, try: number } = c.req.valid("param");
      const { mapIndex } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const row = await findTry(db, { run, taskId, mapIndex }, number, runId);
      if (row.state !== "success") {
        throw new NotFound(
          "no_output",
          `try ${number} of task "${taskId}" in run "${runId}" is ${row.state}: only one that succeeded has an output`,
        );
      }
      if (row.stored === null) return c.json(row.output, 200);
      const { bytes, stream } = await deps.objects.open(row.stored.key);
      c.header("content-type", "application/json");
      c.header("content-length", String(bytes));
      return c.body(Readable.toWeb(stream) as ReadableStream, 200) as never;
    });
};

async function findTry(db: Db, key: TaskKey, number: number, runId: string): Promise<TryRow> {
  const row = await readTry(db, key, number);
  if (row !== null) return row;
  throw new NotFound("no_try", `task "${key.taskId}" of run "${runId}" has no try ${number}`);
}

function outputHref(
  { dagId, runId, taskId }: z.infer<typeof TaskPath>,
  number: number,
  mapIndex: number,
): string {
  const path = [dagId, "runs", runId, "tasks", taskId, "tries", number].map(encodeURIComponent).join("/");
  return `/api/v1/dags/${path}/output${mapIndex === -1 ? "" : `?mapIndex=${mapIndex}`}`;
}

type Held = Pick<Try, "waited" | "waits">;

/** What each try waited for, oldest first; rows come newest first. */
const heldIn =
  (waited: readonly WaitedRow[], waits: readonly WaitRow[], urlOf: (row: WaitRow) => string | null) =>
  (number: number): Held => ({
    waited: waited
      .filter((row) => row.try === number)
      .toReversed()
      .map(({ reason, since, until }) => ({ reason, since: iso(since), until: iso(until) })),
    waits: waits
      .filter((row) => row.try === number)
      .toReversed()
      .map((row) => shapeTryWait(row, urlOf(row))),
  });

const shapeTry = (row: TryRow, outputHref: string): Omit<Try, keyof Held> => ({
  try: row.try,
  state: row.state,
  worker: row.worker,
  queuedAt: isoOrNull(row.queued_at),
  startedAt: isoOrNull(row.started_at),
  endedAt: isoOrNull(row.ended_at),
  error: row.error === null ? null : shapeError(row.error),
  output: row.output,
  stored: row.stored === null ? null : { bytes: row.stored.bytes, href: outputHref },
});

const shapeError = (error: NonNullable<TryRow["error"]>): NonNullable<Try["error"]> => ({
  code: error.code,
  message: error.message,
  ...(error.stack === undefined ? {} : { stack: error.stack }),
});
