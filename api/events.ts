import { createRoute, z } from "@hono/zod-openapi";
import { readDag } from "../db/read/dags.ts";
import { Changes } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { eventStream, type SentEvent } from "./live/event-stream.ts";
import { Live } from "./live/live.ts";
import { EventsQuery, LastEventId, newRoutes } from "./requests.ts";

const followEvents = createRoute({
  method: "get",
  path: "/events",
  summary: "What changes, as server-sent events",
  description:
    "Events `changes` hold what is new since the last one (the schema below, as JSON), coalesced. The first one comes at once: from then on nothing is missed, so ask then for what is shown. An event `reload` says that changes may have been missed. A comment comes each 15 seconds.",
  request: { query: EventsQuery, headers: LastEventId },
  responses: {
    200: {
      description: "A stream without end",
      content: {
        "text/event-stream": { schema: z.object({ event: z.enum(["changes", "reload"]), data: Changes }) },
      },
    },
  },
});

export const eventRoutes = (deps: AppDeps) => {
  // The same database as what is shown is read from: an event never runs ahead of what is then asked for.
  const db = deps.reader ?? deps.db;
  const live = new Live(db, {
    onError: (err) => deps.log?.({ err }, "looking for changes failed; it goes on"),
  });
  deps.closing?.addEventListener("abort", () => live.stop(), { once: true });
  return newRoutes().openapi(followEvents, async (c) => {
    const { dag } = c.req.valid("query");
    const lastId = c.req.valid("header")["last-event-id"];
    if (dag !== undefined && (await readDag(db, dag)) === null) throw noSuchDag(dag);
    return (await eventStream(c, deps.closing, (signal) =>
      sent(live, dag ?? null, lastId ?? null, signal),
    )) as never;
  });
};

async function* sent(
  live: Live,
  dagId: string | null,
  lastId: string | null,
  signal: AbortSignal,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const event of live.follow(dagId, lastId, signal)) {
    yield { event: event.kind, id: event.id, data: event.kind === "changes" ? event.changes : {} };
  }
}
