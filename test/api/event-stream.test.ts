import { Hono } from "hono";
import { test } from "vitest";
import { eventStream, type SentEvent } from "../../api/live/event-stream.ts";

/** Endless events of which each is ready at once; tells when they have ended. */
function readyEvents() {
  let ended: () => void;
  const end = new Promise<void>((resolve) => (ended = resolve));
  async function* events(): AsyncGenerator<SentEvent, void> {
    try {
      for (let id = 0; ; id++) yield { event: "tick", id: String(id), data: {} };
    } finally {
      ended();
    }
  }
  const app = new Hono().get("/", async (c) => await eventStream(c, undefined, events));
  return { app, end };
}

test("events end when a reader leaves who has not taken all there is", async () => {
  const { app, end } = readyEvents();
  const reader = (await app.request("/")).body!.getReader();
  await reader.read();
  await reader.cancel();
  await end;
});

test("events end when the answer is never read", async () => {
  const { app, end } = readyEvents();
  await (await app.request("/")).body!.cancel();
  await end;
});
