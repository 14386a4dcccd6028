/** Streams over a real port, as the client and plain HTTP see them. */
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../remote/index.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertCell, insertDag, insertRun, insertTry } from "./rows.ts";
import { problemOf, testApp } from "./support.ts";

let database: TestDatabase;
let server: ServerType;
let url: string;
let run: number;
let runId: string;
const closing = new AbortController();
/** The log of the one try there is. */
const log = { text: "", isOpen: true };
const opened: Readable[] = [];

beforeAll(async () => {
  database = await createTestDatabase("streams");
  const { pool } = database;
  await insertDag(pool, "sales");
  run = await insertRun(pool, "sales", "2026-05-01T00:00:00Z", { state: "running" });
  runId = "2026-05-01T00-00-00Z";
  await insertCell(pool, run, "extract", "running");
  await insertTry(pool, run, "extract", 1, "running");
  const app = testApp({
    db: pool,
    closing: closing.signal,
    objects: {
      open: async () => {
        opened.push(Readable.from(["[", "1", "]"]));
        return { bytes: 3, stream: opened.at(-1)! };
      },
    },
    logs: {
      // Offsets in bytes, as the store's.
      read: async (_key, offset) => {
        const bytes = Buffer.from(log.text);
        return { text: bytes.subarray(offset).toString(), nextOffset: bytes.length, done: !log.isOpen };
      },
    },
  });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }: AddressInfo) =>
      done(`http://127.0.0.1:${port}`),
    );
  });
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await database.drop();
});

describe("C1: log of a try as it is written", () => {
  test("from where it stands to its end, with a break between", async () => {
    const client = createClient({ url });
    const of = { dagId: "sales", runId, taskId: "extract", try: 1 };
    log.text = "one\nzwö\n";
    let seen = "";
    let at = 0;
    for await (const { text, nextOffset } of client.tasks.followLog(of)) {
      seen += text;
      at = nextOffset;
      if (!log.text.includes("three")) log.text += "three\r\n";
      else break;
    }
    expect(seen).toBe("one\nzwö\nthree\r\n");
    expect(at).toBe(Buffer.byteLength(seen));
    log.text += "four\n";
    for await (const { text } of client.tasks.followLog(of, at)) {
      seen += text;
      if (log.isOpen) {
        await database.pool.query("update app.task_try set state = 'success' where run = $1", [run]);
        log.text += "last\n";
        log.isOpen = false;
      }
    }
    expect(seen).toBe("one\nzwö\nthree\r\nfour\nlast\n");
  });

  test("as plain HTTP: offsets are event ids, and the end says how the try ended", async () => {
    const path = `${url}/api/v1/dags/sales/runs/${runId}/tasks/extract/tries/1/log/stream`;
    const whole = await fetch(path);
    expect(whole.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const size = Buffer.byteLength(log.text);
    expect(await whole.text()).toBe(
      `retry: 1000\n\nevent: log\nid: ${size}\ndata: ${JSON.stringify({ text: log.text })}\n\n` +
        `event: done\nid: ${size}\ndata: {"state":"success"}\n\n`,
    );
    const rest = await fetch(path, { headers: { "last-event-id": String(size - 5) } });
    expect(await rest.text()).toContain(`data: {"text":"last\\n"}`);
    expect((await problemOf(await fetch(path.replace("tries/1", "tries/2")), 404)).code).toBe("no_try");
    expect((await problemOf(await fetch(path, { headers: { "last-event-id": "x" } }), 400)).code).toBe(
      "bad_event_id",
    );
  });
});

describe("C1: events over HTTP", () => {
  test("changes reach the client; what cannot be is a problem", async () => {
    const client = createClient({ url });
    let changed = false;
    for await (const { changes } of client.events({ dagId: "sales" })) {
      const cell = changes?.cells[0]?.cells[0];
      if (cell?.taskId === "load") {
        expect(changes!.cells).toEqual([
          { dagId: "sales", runId, cells: [expect.objectContaining({ state: "queued" })] },
        ]);
        break;
      }
      if (!changed) await insertCell(database.pool, run, "load", "queued");
      changed = true;
    }
    await expect(client.events({ dagId: "nowhere" }).next()).rejects.toMatchObject({ code: "no_dag" });
    const bad = { headers: { "last-event-id": "x" } };
    expect((await problemOf(await fetch(`${url}/api/v1/events`, bad), 400)).code).toBe("bad_event_id");
    expect((await problemOf(await fetch(`${url}/api/v1/events?dags=x`), 400)).code).toBe("bad_request");
  });

  test("F5: a wait ends with the run", async () => {
    const states: string[] = [];
    const waiting = createClient({ url }).runs.wait("sales", runId, {
      onRun: ({ state }) => {
        states.push(state);
        if (state === "running")
          void database.pool.query("update app.dag_run set state = 'success' where run = $1", [run]);
      },
    });
    expect((await waiting).state).toBe("success");
    expect(states).toEqual(["running", "success"]);
  });

  test("HEAD keeps nothing open: no place among the streams, no file of an output", async () => {
    for (let i = 0; i < 2_100; i += 100) {
      const heads = Array.from(
        { length: 100 },
        async () => await fetch(`${url}/api/v1/events`, { method: "HEAD" }),
      );
      for (const { status } of await Promise.all(heads)) expect(status).toBe(200);
    }
    const stored = { key: "outputs/x.json", bytes: 3 };
    await database.pool.query("update app.task_try set stored = $2 where run = $1", [run, stored]);
    const output = `${url}/api/v1/dags/sales/runs/${runId}/tasks/extract/tries/1/output`;
    const head = await fetch(output, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "3"]);
    await expect.poll(() => opened.map((stream) => stream.destroyed)).toEqual([true]);
    expect(await (await fetch(output)).json()).toEqual([1]);
  });

  test("open streams end when the server stops", async () => {
    const reader = (await fetch(`${url}/api/v1/events`)).body!.getReader();
    await reader.read();
    closing.abort();
    for (let done = false; !done;) ({ done } = await reader.read());
  });
});
