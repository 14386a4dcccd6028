import type { AddressInfo } from "node:net";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { exitCodeOf } from "../../cli/failure.ts";
import { createProgram } from "../../cli/main.ts";
import { createClient } from "../../remote/index.ts";
import { testApp } from "../api/support.ts";
import { event, waiting, WaitsRig } from "../client/waits-rig.ts";

let rig: WaitsRig;
let server: ServerType;
let url: string;

beforeAll(async () => {
  rig = await WaitsRig.make(4);
  const app = testApp({ db: rig.database.pool, client: rig.client });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(`http://127.0.0.1:${info.port}`),
    );
  });
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await rig.database.drop();
});

const payload = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
const every = { everyMs: 60_000, timeoutMs: null };
beforeEach(async () => {
  await rig.database.pool.query("truncate app.wait");
  await rig.newRun([
    waiting("approval", event({ payload })),
    waiting("file", { kind: "sensor", ...every }),
    waiting("later"),
  ]);
  await rig.begin("approval", { expires_at: "2126-05-12T14:00:00Z" });
  await rig.begin("file", { kind: "sensor", every_ms: 60_000, next_at: "2126-05-12T14:00:00Z" });
});

/** What a command of `waits` prints, line by line. */
async function waits(...words: readonly string[]): Promise<string[]> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
  try {
    await createProgram().parseAsync(["waits", ...words, "--url", url], { from: "user" });
  } finally {
    log.mockRestore();
  }
  return printed.join("\n").trimEnd().split("\n");
}
/** The exit code that it ends with, and why. */
async function refused(...words: readonly string[]): Promise<[number, string]> {
  const error: unknown = await waits(...words).then(
    () => null,
    (e: unknown) => e,
  );
  return [exitCodeOf(error), (error as Error).message];
}

test("A6: waits list shows what waits and why; of a run, what has waited and who ended it", async () => {
  expect((await waits("list", "--columns", "taskId,kind,reason")).slice(1)).toEqual([
    "approval  event   waits for somebody to end it, until 2126-05-12T14:00:00Z",
    "file      sensor  waits for its check to say yes; checked once, next at 2126-05-12T14:00:00Z",
  ]);
  expect(await waits("list", "orders", "--kind", "event", "--quiet")).toEqual([
    `orders ${rig.runId} approval`,
  ]);
  expect(await waits("list", "--task", "file", "--limit", "1", "--quiet")).toEqual([
    `orders ${rig.runId} file`,
  ]);
  await rig.end(rig.byName("approval"), { ok: true });
  expect(await waits("list", "orders", "--quiet")).toEqual([`orders ${rig.runId} file`]);
  const ofRun = ["list", "orders", "--run", rig.runId];
  expect((await waits(...ofRun, "--columns", "taskId,state,endedAs,endedBy")).slice(1)).toEqual([
    "approval  ended  success  ann",
    "file      open   -        -",
  ]);
  expect(await waits(...ofRun, "--kind", "sensor", "--quiet")).toEqual(["file"]);
  const json = JSON.parse((await waits(...ofRun, "--output", "json")).join("\n")) as { taskId: string }[];
  expect(json.map(({ taskId }) => taskId)).toEqual(["approval", "file"]);
  expect(await refused("list", "--run", "latest")).toEqual([
    2,
    expect.stringContaining("--run is of one DAG"),
  ]);
});

test("A6: waits end and poke, with exit codes that say what became of it", async () => {
  const bad = await refused("end", "orders", "approval", rig.runId, "--payload", '{"ok":1}');
  expect(bad).toEqual([4, expect.stringContaining("payload does not fit")]);
  expect(await refused("end", "orders", "approval", rig.runId, "--payload", "yes")).toEqual([
    2,
    expect.stringContaining(`--payload yes: expected JSON; a text has quotes of its own`),
  ]);
  const ended = await waits("end", "orders", "approval", rig.runId, "--payload", '{"ok":true}');
  expect(ended[0]).toBe(`the wait of approval in orders ${rig.runId} is ended`);
  expect(await refused("end", "orders", "approval", rig.runId, "--payload", '{"ok":true}')).toEqual([
    4,
    expect.stringContaining("has been ended already"),
  ]);
  expect(await refused("end", "orders", "nope", rig.runId)).toEqual([
    3,
    expect.stringContaining("there is no task"),
  ]);
  // Before it waits, by the newest run.
  const early = await waits("end", "orders", "later", "--output", "json");
  expect(JSON.parse(early.join("\n"))).toMatchObject({ answer: "ended", runId: rig.runId, taskId: "later" });
  expect(await waits("poke", "orders", "file", rig.runId)).toEqual([
    `file in orders ${rig.runId} is checked within a second`,
  ]);
  expect(await refused("poke", "orders", "later", rig.runId)).toEqual([
    4,
    expect.stringContaining("waits for nothing"),
  ]);
  expect((await rig.rows()).map((row) => [row.task_id, row.payload])).toEqual([
    ["approval", { ok: true }],
    ["file", null],
    ["later", null],
  ]);
});

test("A6: the client lists, ends and pokes", async () => {
  const client = createClient({ url, user: "ann@ci" });
  const { dagId, runId } = rig.byName("x");
  expect((await client.waits.list({ dagId, kind: ["event"] }).all()).map(({ taskId }) => taskId)).toEqual([
    "approval",
  ]);
  const all = await client.waits.ofRun(dagId, runId, { limit: 1 }).all();
  expect(all.map(({ taskId }) => taskId)).toEqual(["approval", "file"]);
  // The address of one that somebody may end: a plain POST does.
  const answer = await fetch(all[0]!.url!, { method: "POST", body: '{"ok":true}' });
  expect(answer.status).toBe(200);
  const again = client.waits.end({ dagId, runId, taskId: "approval" }, { ok: true });
  await expect(again).rejects.toMatchObject({ kind: "conflict", code: "already_ended" });
  expect(await client.waits.end({ dagId, runId, taskId: "later" })).toMatchObject({
    answer: "ended",
    mapIndex: -1,
  });
  expect(await client.waits.poke({ dagId, runId, taskId: "file" })).toMatchObject({ answer: "due" });
  expect((await rig.rows()).map((row) => row.ended_by)).toEqual(["anonymous@api", null, "ann@ci"]);
});
