import { createRoute } from "@hono/zod-openapi";
import type { Context } from "hono";
import { NotFound, Refused } from "../core/errors.ts";
import type { Db } from "../db/connection.ts";
import { readDag } from "../db/read/dags.ts";
import { otherOf, readOpenWaits, readRunWaits, reasonOf, type WaitRow } from "../db/read/waits.ts";
import { waitSecret } from "../db/waits.ts";
import { WaitAddresses } from "../platform/wait-address.ts";
import { WaitEnded, WaitList, WaitPoked, type TryWait, type Wait } from "./contracts-waits.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import {
  EndWaitBody,
  newRoutes,
  RunPath,
  RunWaitsQuery,
  TaskPath,
  TriesQuery,
  WaitAddressPath,
  waitKeyOf,
  WaitsQuery,
  whyNotStorable,
} from "./requests.ts";
import { findRun } from "./runs.ts";
import { cutPage, isoOrNull, json } from "./shape.ts";

const listWaits = createRoute({
  method: "get",
  path: "/waits",
  summary: "What waits now without a slot, over all DAGs, of the oldest run first",
  request: { query: WaitsQuery },
  responses: { 200: json(WaitList, "A page of waits") },
});
const listRunWaits = createRoute({
  method: "get",
  path: "/dags/{dagId}/runs/{runId}/waits",
  summary: "What tasks of a run wait for without a slot, or have waited for, by task",
  request: { params: RunPath, query: RunWaitsQuery },
  responses: { 200: json(WaitList, "A page of waits") },
});
const endByAddress = createRoute({
  method: "post",
  path: "/waits/{token}",
  summary: "End a wait by its address, from anywhere; the body is its payload, as JSON. 409: it has ended",
  request: { params: WaitAddressPath },
  requestBody: { content: { "application/json": { schema: {} } } },
  responses: { 200: json(WaitEnded, "It has ended") },
});
const endByName = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/waits/{taskId}",
  summary: "End the wait of a task, also ahead of its beginning. 409 says what stands against it",
  request: {
    params: TaskPath,
    query: TriesQuery,
    body: { content: { "application/json": { schema: EndWaitBody } } },
  },
  responses: { 200: json(WaitEnded, "It has ended") },
});
const pokeWait = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/waits/{taskId}/poke",
  summary: "Check a sensor, or a wait for another run, now. 409 says what stands against it",
  request: { params: TaskPath, query: TriesQuery },
  responses: { 200: json(WaitPoked, "Its check is due now") },
});

export const waitRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  const addresses = addressesBy(deps.db);
  const urlsFor = waitUrls(deps);
  return newRoutes()
    .openapi(listWaits, async (c) => {
      const {
        dagId = null,
        taskId = null,
        kind = null,
        search = null,
        after = null,
        limit,
      } = c.req.valid("query");
      const rows = await readOpenWaits(db, { dagId, taskId, kinds: kind, search }, after, limit + 1);
      if (rows.length === 0 && dagId !== null && (await readDag(db, dagId)) === null) throw noSuchDag(dagId);
      const [page, next] = cutPage(rows, limit, waitKeyOf);
      return c.json({ waits: page.map((row) => shapeWait(row, null)), after: next }, 200);
    })
    .openapi(listRunWaits, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const { after = null, limit } = c.req.valid("query");
      const { run } = await findRun(db, dagId, runId);
      const rows = await readRunWaits(db, run, after, limit + 1);
      const [page, next] = cutPage(rows, limit, waitKeyOf);
      const urlOf = await urlsFor(page, c.req.url);
      return c.json({ waits: page.map((row) => shapeWait(row, urlOf(row))), after: next }, 200);
    })
    .openapi(endByAddress, async (c) => {
      const at = (await addresses()).placeOf(c.req.valid("param").token);
      if (at === null) throw new NotFound("no_wait", "there is no wait at this address");
      const payload = await payloadOf(c);
      const ended = await deps.client.endWait({ at, payload, who: c.get("who") });
      return c.json({ answer: "ended" as const, ...ended }, 200);
    })
    .openapi(endByName, async (c) => {
      const at = { ...c.req.valid("param"), ...c.req.valid("query") };
      const { payload } = c.req.valid("json");
      const ended = await deps.client.endWait({ at, payload, who: c.get("who") });
      return c.json({ answer: "ended" as const, ...ended }, 200);
    })
    .openapi(pokeWait, async (c) => {
      const at = { ...c.req.valid("param"), ...c.req.valid("query") };
      const poked = await deps.client.checkWait({ ...at, who: c.get("who") });
      return c.json({ answer: "due" as const, ...poked }, 200);
    });
};

/** The addresses of those waits of a list that somebody may end; `asked`: by which URL it was asked for. */
export const waitUrls = (deps: AppDeps) => {
  const addresses = addressesBy(deps.db);
  const isOpen = (row: WaitRow): boolean => row.kind === "event" && row.ended_at === null;
  return async (rows: readonly WaitRow[], asked: string): Promise<(row: WaitRow) => string | null> => {
    if (!rows.some(isOpen)) return () => null;
    const signing = await addresses();
    const base = deps.publicUrl?.replace(/\/+$/, "") ?? new URL(asked).origin;
    return (row) => (isOpen(row) ? signing.urlOf(placeOf(row), base) : null);
  };
};

/** Their secret is read when it is first wanted: an API starts without its database. */
function addressesBy(db: Db): () => Promise<WaitAddresses> {
  let made: Promise<WaitAddresses> | null = null;
  return async () => {
    made ??= waitSecret(db).then((secret) => new WaitAddresses(secret, ""));
    try {
      return await made;
    } catch (error) {
      made = null;
      throw error;
    }
  };
}

/** Whatever its type says, for tools that cannot choose one; nothing is null. */
async function payloadOf(c: Context): Promise<unknown> {
  const text = await c.req.text();
  if (text.trim() === "") return null;
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (cause) {
    throw new Refused("bad_json", 'the body is no JSON: expected the payload, such as {"approved":true}', {
      cause,
    });
  }
  const why = whyNotStorable(payload);
  if (why !== null) throw new Refused("bad_request", `body: ${why}`, { details: { issues: [] } });
  return payload;
}

const placeOf = (row: WaitRow) => ({
  run: row.run,
  taskId: row.task_id,
  mapIndex: row.map_index,
  try: row.try,
  wait: row.wait,
});

const shapeWait = (row: WaitRow, url: string | null): Wait => ({
  key: waitKeyOf(row),
  dagId: row.dag_id,
  runId: row.run_id,
  taskId: row.task_id,
  mapIndex: row.map_index,
  try: row.try,
  ...shapeTryWait(row, url),
});

export function shapeTryWait(row: WaitRow, url: string | null): TryWait {
  const isOpen = row.ended_at === null;
  const nextAt = isOpen ? isoOrNull(row.next_at) : null;
  return {
    wait: row.wait,
    kind: row.kind,
    state: isOpen ? "open" : "ended",
    reason: isOpen ? reasonOf(row) : null,
    since: isoOrNull(row.begun_at),
    until: isoOrNull(row.until),
    dueAt: row.kind === "time" ? isoOrNull(row.next_at) : null,
    other: otherOf(row),
    everyMs: row.every_ms,
    checks: row.checks,
    lastCheckAt: isoOrNull(row.checked_at),
    nextCheckAt: row.kind === "time" ? null : nextAt,
    endedAs: row.ended_as,
    endedBy: row.ended_by,
    endedAt: isoOrNull(row.ended_at),
    url,
  };
}
