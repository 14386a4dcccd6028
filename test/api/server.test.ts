import { createConnection, type AddressInfo } from "node:net";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testApp } from "./support.ts";

let server: ServerType;
let port: number;
beforeAll(async () => {
  const app = testApp();
  port = await new Promise<number>((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(info.port),
    );
  });
});
afterAll(() => new Promise<void>((done) => server.close(() => done())));

/** The first line of the answer to bytes that no well-meaning client sends. */
const raw = (text: string): Promise<string> =>
  new Promise((done, fail) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(text.replaceAll("\n", "\r\n")));
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString()));
    socket.on("close", () => done(answer.split("\r\n")[0]!));
    socket.on("error", fail);
  });

test("over a real port: changes with and without a body", async () => {
  const change = async (path: string, body?: unknown) =>
    await fetch(`http://127.0.0.1:${port}/api/v1/dags/sales/${path}`, {
      method: "POST",
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
  expect(await (await change("pause", { reason: "x" })).json()).toMatchObject({ paused: true, reason: "x" });
  expect((await change("unpause")).status).toBe(200);
  const bare = await fetch(`http://127.0.0.1:${port}/api/v1/dags/sales/runs`, { method: "POST" });
  expect(bare.status).toBe(201);
});

test.each([
  ["a foreign host", "GET /api/openapi.json HTTP/1.1\nHost: evil.example\nConnection: close\n\n", 403],
  [
    "a whole address of a foreign host",
    "GET http://evil.example/ HTTP/1.1\nHost: evil.example\nConnection: close\n\n",
    403,
  ],
  [
    "dots in the path",
    "GET /api/v1/dags/../../../etc/passwd HTTP/1.1\nHost: localhost\nConnection: close\n\n",
    [404, 503],
  ],
  ["encoded dots", "GET /api/v1/dags/%2e%2e%2fx/grid HTTP/1.1\nHost: localhost\nConnection: close\n\n", 400],
  [
    "a form",
    "POST /api/v1/dags/sales/pause HTTP/1.1\nHost: localhost\nContent-Type: text/plain\nContent-Length: 2\nConnection: close\n\n{}",
    415,
  ],
  [
    "a body without a type",
    "POST /api/v1/dags/sales/pause HTTP/1.1\nHost: localhost\nContent-Length: 2\nConnection: close\n\n{}",
    415,
  ],
  [
    "chunks without a type",
    "POST /api/v1/dags/sales/pause HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\nConnection: close\n\n2\n{}\n0\n\n",
    415,
  ],
  [
    "a huge body announced",
    "POST /api/v1/dags/sales/pause HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 999999999\nConnection: close\n\n",
    413,
  ],
])("over a real port: %s", async (_what, text, status) => {
  const line = await raw(text);
  expect([status].flat()).toContain(Number(line.split(" ")[1]));
});
