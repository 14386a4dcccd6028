import { createRoute, z } from "@hono/zod-openapi";
import { NotFound, Refused } from "../core/errors.ts";
import type { TryState } from "../core/states.ts";
import { readTry } from "../db/read/tries.ts";
import type { AppDeps, LogReader } from "./deps.ts";
import { eventStream, type SentEvent } from "./live/event-stream.ts";
import { LastEventId, LogQuery, newRoutes, TryPath } from "./requests.ts";
import { findRun } from "./runs.ts";
import { isUnderWay } from "./shape.ts";

const followLog = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/log/stream",
  summary: "The log of a try as it is written, as server-sent events",
  description:
    "Events `log` hold a piece of text; their id is the byte offset behind it. An event `done` says that the try has ended and all of its log was sent: close the stream then.",
  request: { params: TryPath, query: LogQuery, headers: LastEventId },
  responses: {
    200: {
      description: "A stream that ends with the try",
      content: {
        "text/event-stream": {
          schema: z.object({ event: z.enum(["log", "done"]), data: z.object({ text: z.string() }) }),
        },
      },
    },
  },
});

/** Lines come as soon as the worker has written them, which it does each 100 ms. */
const REST_MS = 200;
/** Of what waits, hours long maybe, nothing comes but the lines of a check. */
const restMs = (state: TryState | null): number => (state === "deferred" ? STATE_MS : REST_MS);
/** A piece of this length has more behind it. */
const WHOLE_PIECE = 512 * 1024;
/** How often a try whose log is silent is asked for its state. */
const STATE_MS = 1_000;

export const logStreamRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  return newRoutes().openapi(followLog, async (c) => {
    const { dagId, runId, taskId, try: number } = c.req.valid("param");
    const { mapIndex, offset } = c.req.valid("query");
    const from = offsetOf(c.req.valid("header")["last-event-id"]) ?? offset;
    const { run } = await findRun(db, dagId, runId);
    const stateOf = async (): Promise<TryState | null> =>
      (await readTry(db, { run, taskId, mapIndex }, number))?.state ?? null;
    if ((await stateOf()) === null) {
      throw new NotFound("no_try", `task "${taskId}" of run "${runId}" has no try ${number}`);
    }
    const key = { dagId, runId, taskId, mapIndex, try: number };
    return (await eventStream(c, deps.closing, (signal) =>
      pieces((at) => deps.logs.read(key, at), stateOf, from, signal),
    )) as never;
  });
};

async function* pieces(
  read: (offset: number) => ReturnType<LogReader["read"]>,
  stateOf: () => Promise<TryState | null>,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<SentEvent, void, undefined> {
  let offset = from;
  let state: TryState | null = "running";
  for (let askedAt = 0, isFirst = true; !signal.aborted; isFirst = false) {
    if (state !== null && isUnderWay(state) && performance.now() - askedAt >= STATE_MS) {
      state = await stateOf();
      askedAt = performance.now();
    }
    // The state was read first, so a try that had ended by then has nothing more to add.
    const piece = await read(offset);
    offset = Math.max(offset, piece.nextOffset);
    if (isFirst || piece.text !== "") yield { event: "log", id: String(offset), data: { text: piece.text } };
    else if (piece.done && (state === null || !isUnderWay(state))) {
      yield { event: "done", id: String(offset), data: { state } };
      return;
    }
    if (piece.text.length < WHOLE_PIECE) await rest(isFirst ? 0 : restMs(state), signal);
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake, { once: true });
  });
}

function offsetOf(id: string | undefined): number | null {
  if (id === undefined) return null;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new Refused(
    "bad_event_id",
    `Last-Event-ID ${JSON.stringify(id)} is no offset of this log: leave it out`,
  );
}
