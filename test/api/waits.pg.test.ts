import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WaitEnded, WaitList, WaitPoked } from "../../api/contracts-waits.ts";
import { waitSecret } from "../../db/waits.ts";
import { WaitAddresses, type WaitPlace } from "../../platform/wait-address.ts";
import { waiting, event, WaitsRig } from "../client/waits-rig.ts";
import { serialTask } from "../support/serial.ts";
import { insertDag } from "./rows.ts";
import { get, post, problemOf, testApp, type TestApp } from "./support.ts";

let rig: WaitsRig;
let app: TestApp;
let addresses: WaitAddresses;

beforeAll(async () => {
  rig = await WaitsRig.make(4);
  app = testApp({ db: rig.database.pool, client: rig.client, allowedHosts: ["meridian.example"] });
  addresses = new WaitAddresses(await waitSecret(rig.database.pool), "");
});
afterAll(() => rig.database.drop());

const place = (taskId: string, more: Partial<WaitPlace> = {}): WaitPlace => ({
  run: rig.run,
  taskId,
  mapIndex: -1,
  try: 1,
  wait: 1,
  ...more,
});
const tokenOf = (taskId: string, more: Partial<WaitPlace> = {}): string =>
  addresses.tokenOf(place(taskId, more));
const send = async (token: string, body: string | null, headers: Record<string, string> = {}) =>
  await app.request(`/api/v1/waits/${token}`, {
    method: "POST",
    body,
    headers: { host: "localhost", "content-type": "application/json", ...headers },
  });
const waitsOf = (taskId: string): string => `/dags/orders/runs/${rig.runId}/waits/${taskId}`;
const kept = async (): Promise<unknown[]> => (await rig.rows()).map((row) => row.payload);

describe("A6: a wait is ended by its address", () => {
  beforeEach(async () => {
    await rig.newRun([waiting("approval", event({ timeoutMs: 60_000 }))]);
  });

  test("A6: the first one to post ends it, its JSON kept to the letter; the others are told", async () => {
    await rig.begin("approval");
    const ended = await send(tokenOf("approval"), '{"z":1,"a":[true]}');
    expect(ended.status).toBe(200);
    expect(WaitEnded.parse(await ended.json())).toEqual({
      answer: "ended",
      dagId: "orders",
      runId: rig.runId,
      taskId: "approval",
      mapIndex: -1,
      try: 1,
      wait: 1,
    });
    const second = await problemOf(await send(tokenOf("approval"), "{}"), 409);
    expect(second).toMatchObject({
      code: "already_ended",
      detail: `the wait of task "approval" of run "${rig.runId}" of dag "orders" has been ended already`,
    });
    const text = await rig.database.pool.query(
      "select payload::text as text, ended_by from app.wait where run = $1",
      [rig.run],
    );
    expect(text.rows).toEqual([{ text: '{"z":1,"a":[true]}', ended_by: "anonymous@api" }]);
  });

  test("A6: after its time-out it is too late, and nothing is kept", async () => {
    await rig.begin("approval", { expires_in_ms: -1 });
    expect((await problemOf(await send(tokenOf("approval"), "{}"), 409)).code).toBe("too_late");
    expect(await kept()).toEqual([null]);
  });

  test("A6: ahead of the wait's beginning too", async () => {
    expect((await send(tokenOf("approval"), '"early"')).status).toBe(200);
    expect(await rig.begin("approval")).toBe(true);
    expect(await kept()).toEqual(["early"]);
  });

  test("A6: any JSON, in whatever type a tool sends it; nothing is null", async () => {
    const bodies = [
      ['{"a":1}', "application/json", { a: 1 }],
      ["[1]", "application/x-www-form-urlencoded", [1]],
      ['"text"', "text/plain", "text"],
      ["false", "application/cloudevents+json", false],
      ["", "application/json", null],
      [null, "", null],
    ] as const;
    for (const [body, type, payload] of bodies) {
      await rig.newRun([waiting("approval")]);
      const answer = await send(tokenOf("approval"), body, { "content-type": type });
      expect([body, answer.status]).toEqual([body, 200]);
      expect(await kept()).toEqual([payload]);
    }
  });

  test.each([
    ["no JSON", "approved=yes", 400, "bad_json"],
    ["a NUL", String.raw`"a\u0000"`, 400, "bad_request"],
    ["half of a pair", String.raw`"\ud800"`, 400, "bad_request"],
    ["a number that is too large", "[1e999]", 400, "bad_request"],
    ["deeper than can be kept", "[".repeat(100_000) + "]".repeat(100_000), 400, "bad_request"],
    ["larger than 256 KiB", `"${"x".repeat(256 * 1024)}"`, 413, "body_too_large"],
  ] as const)("A6: %s is refused, and the wait goes on", async (_what, body, status, code) => {
    await rig.begin("approval");
    expect((await problemOf(await send(tokenOf("approval"), body), status)).code).toBe(code);
    expect((await rig.rows()).map((row) => row.ended_as)).toEqual([null]);
  });

  test("A6: nesting that Node reads and the database may not is no fault of the server", async () => {
    for (const depth of [500, 2_000, 5_000, 10_000]) {
      await rig.newRun([waiting("approval")]);
      const { status } = await send(tokenOf("approval"), "[".repeat(depth) + "]".repeat(depth));
      expect([depth, [200, 400].includes(status)]).toEqual([depth, true]);
    }
  });

  test("A6: a service or a page of another origin may, as the address alone counts; another host's name still not", async () => {
    const foreign = { origin: "https://approve.example", "sec-fetch-site": "cross-site" };
    const asked = await app.request(`/api/v1/waits/${tokenOf("approval")}`, {
      method: "OPTIONS",
      headers: {
        host: "meridian.example",
        ...foreign,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    });
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    expect(asked.headers.get("access-control-allow-headers")).toContain("Content-Type");
    const host = "meridian.example";
    expect((await problemOf(await send(tokenOf("approval"), "1", { host: "evil.example" }), 403)).code).toBe(
      "foreign_host",
    );
    const answer = await send(tokenOf("approval"), "1", { host, ...foreign });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    // By name that is still refused.
    const byName = await app.request(`/api/v1${waitsOf("approval")}`, {
      method: "POST",
      body: "{}",
      headers: { host, "content-type": "application/json", ...foreign },
    });
    expect((await problemOf(byName, 403)).code).toBe("foreign_origin");
  });

  test("A6: an address that was not made here finds nothing, and says no more", async () => {
    await rig.begin("approval");
    const good = tokenOf("approval");
    const [text, signature] = good.split(".") as [string, string];
    const other = tokenOf("approval", { try: 2 }).split(".")[1]!;
    const forged = [
      `${text}.${other}`,
      `${text}.${signature.slice(0, -1)}`,
      `${text}.${signature}A`,
      `${text}.${signature}=`,
      `${text}.${signature.toUpperCase()}`,
      `${text}.`,
      `.${signature}`,
      `${text}.${signature}.${signature}`,
      text,
      "x",
      `${Buffer.from(JSON.stringify([rig.run, "other", -1, 1, 1])).toString("base64url")}.${signature}`,
      new WaitAddresses("another secret", "").tokenOf(place("approval")),
    ];
    const told = new Set<string>();
    for (const token of forged) {
      const problem = await problemOf(await send(token, "{}"), 404);
      told.add(JSON.stringify(problem));
    }
    expect([...told]).toHaveLength(1);
    expect([...told][0]).toContain("there is no wait at this address");
    expect((await rig.rows()).map((row) => row.ended_as)).toEqual([null]);
    expect((await send(good, "{}")).status).toBe(200);
  });

  test("A6: it is not ended by a look at it", async () => {
    await rig.begin("approval");
    const looked = await app.request(`/api/v1/waits/${tokenOf("approval")}`);
    expect((await problemOf(looked, 405)).detail).toContain("expected POST");
    expect(looked.headers.get("allow")).toContain("POST");
    expect((await rig.rows()).map((row) => row.ended_as)).toEqual([null]);
  });

  test("A6: a payload that does not fit is refused with its paths", async () => {
    await rig.newRun([waiting("approval", event({ payload: { type: "object", required: ["by"] } }))]);
    const problem = await problemOf(await send(tokenOf("approval"), "7"), 400);
    expect(problem).toMatchObject({ code: "bad_payload", details: { errors: [{ path: "" }] } });
  });
});

describe("A6 C8: a wait is ended by name", () => {
  test("A6 C8: one instance of a mapped wait, with who did it", async () => {
    await rig.newRun([serialTask("list"), waiting("approve", event(), { map: 0 })]);
    await rig.database.pool.query(
      `update app.dag_version v set graph = graph || '{"maps": [{"group": null, "over": {"x": 0}, "how": "product", "batch": null, "max": 9}]}'
       from app.dag_run r where r.run = $1 and v.version = r.version`,
      [rig.run],
    );
    for (const map_index of [0, 1, 2]) await rig.begin("approve", { map_index });
    expect((await problemOf(await post(app, waitsOf("approve"), { payload: 1 }), 400)).code).toBe("no_index");
    const answer = await post(
      app,
      `${waitsOf("approve")}?mapIndex=1`,
      { payload: { ok: true } },
      {
        "X-Meridian-User": "ann%40page",
      },
    );
    expect(WaitEnded.parse(await answer.json())).toMatchObject({ taskId: "approve", mapIndex: 1 });
    expect((await rig.rows()).map((row) => [row.ended_by, row.payload])).toEqual([
      [null, null],
      ["ann@page", { ok: true }],
      [null, null],
    ]);
    const audits = await rig.database.pool.query(
      "select who, action, dag_id, detail from app.audit where run_id = $1",
      [rig.runId],
    );
    expect(audits.rows).toEqual([
      {
        who: "ann@page",
        action: "end_wait",
        dag_id: "orders",
        detail: { taskId: "approve", mapIndex: 1, try: 1, wait: 1, by: "name" },
      },
    ]);
  });

  test("A6: a key ends it once, and its repeats get the same answer", async () => {
    await rig.newRun([waiting("approval")]);
    await rig.begin("approval");
    const key = { "Idempotency-Key": "approve-1" };
    const first = await post(app, waitsOf("approval"), { payload: 1 }, key);
    const again = await post(app, waitsOf("approval"), { payload: 1 }, key);
    expect([first.status, again.status, again.headers.get("Idempotency-Replayed")]).toEqual([
      200,
      200,
      "true",
    ]);
    expect(await again.json()).toEqual(await first.json());
    expect((await problemOf(await post(app, waitsOf("approval"), { payload: 1 }), 409)).code).toBe(
      "already_ended",
    );
    expect((await problemOf(await post(app, waitsOf("approval"), { payload: 2 }, key), 409)).code).toBe(
      "key_reused",
    );
    await rig.newRun([waiting("approval")]);
    const token = tokenOf("approval");
    const sent = [await send(token, "1", key), await send(token, "1", key)];
    expect(sent.map(({ status }) => status)).toEqual([409, 409]);
    const own = { "Idempotency-Key": "approve-2" };
    const posted = [await send(token, "1", own), await send(token, "1", own)];
    expect(posted.map((one) => [one.status, one.headers.get("Idempotency-Replayed")])).toEqual([
      [200, null],
      [200, "true"],
    ]);
  });

  test("A6: without a body the payload is null; what is no payload, or cannot be stored, is refused", async () => {
    await rig.newRun([waiting("approval")]);
    expect((await problemOf(await post(app, waitsOf("approval"), { paylod: 1 }), 400)).code).toBe(
      "bad_request",
    );
    expect((await problemOf(await post(app, waitsOf("approval"), { payload: ["\0"] }), 400)).code).toBe(
      "bad_request",
    );
    expect((await problemOf(await post(app, waitsOf("nope"), { payload: 1 }), 404)).code).toBe("no_task");
    expect((await post(app, waitsOf("approval"))).status).toBe(200);
    expect(await kept()).toEqual([null]);
  });

  test("A6: check now", async () => {
    await rig.newRun([
      waiting("file", { kind: "sensor", everyMs: 3_600_000, timeoutMs: null }),
      waiting("approval"),
    ]);
    await rig.begin("file", { kind: "sensor", every_ms: 3_600_000, next_in_ms: 3_600_000 });
    await rig.begin("approval");
    const answer = await post(app, `${waitsOf("file")}/poke`);
    expect(answer.status).toBe(200);
    expect(WaitPoked.parse(await answer.json())).toMatchObject({ answer: "due", taskId: "file" });
    expect((await problemOf(await post(app, `${waitsOf("approval")}/poke`), 409)).code).toBe(
      "nothing_to_check",
    );
  });
});

describe("A6: lists of waits", () => {
  test("A6: of a run: ended ones too, what each waits for, and the address of what somebody may end", async () => {
    const { pool } = rig.database;
    const every = { everyMs: 60_000, timeoutMs: 3_600_000 };
    await rig.newRun([
      waiting("approval"),
      waiting("early"),
      waiting("file", { kind: "sensor", ...every }),
      waiting("noon", { kind: "until", at: "2026-06-01T12:00:00Z" }),
      waiting("other", { kind: "run", dagId: "x", taskId: "load", beforeMs: 0, ...every }),
      waiting("signed"),
    ]);
    await rig.end(rig.byName("early"), 1);
    await rig.begin("approval", { expires_at: "2026-05-12T14:00:00Z" });
    await rig.begin("file", { kind: "sensor", every_ms: 60_000, next_at: "2126-05-12T14:00:00Z" });
    await rig.begin("noon", { kind: "time", next_at: "2126-06-01T12:00:00Z" });
    const spec = { dag_id: "x", run_id: "2026-05-09T00-00-00Z", task_id: "load" };
    await rig.begin("other", { kind: "run", every_ms: 60_000, next_at: "2126-05-12T14:00:00Z", spec });
    await rig.begin("signed");
    await rig.end(rig.byName("signed"));
    await pool.query(
      "update app.wait set pokes = 11, poked_at = '2026-05-12T13:59:00Z' where run = $1 and task_id = 'file'",
      [rig.run],
    );
    const { waits, after } = await get(app, `/dags/orders/runs/${rig.runId}/waits`, WaitList);
    expect(after).toBeNull();
    expect(waits.map((one) => [one.taskId, one.kind, one.state, one.reason])).toEqual([
      ["approval", "event", "open", "waits for somebody to end it, until 2026-05-12T14:00:00Z"],
      ["early", "event", "ended", null],
      [
        "file",
        "sensor",
        "open",
        "waits for its check to say yes; checked 12 times, next at 2126-05-12T14:00:00Z",
      ],
      ["noon", "time", "open", "waits until 2126-06-01T12:00:00Z"],
      [
        "other",
        "run",
        "open",
        'waits for task "load" of run 2026-05-09T00-00-00Z of dag "x"; next at 2126-05-12T14:00:00Z',
      ],
      ["signed", "event", "ended", null],
    ]);
    const [approval, early, file, noon, , signed] = waits;
    expect(approval!.url).toBe(`http://localhost/api/v1/waits/${tokenOf("approval")}`);
    expect(approval!.until).toBe("2026-05-12T14:00:00.000Z");
    expect(early).toMatchObject({ since: null, endedAs: "success", endedBy: "ann", url: null });
    expect(file).toMatchObject({
      checks: 12,
      everyMs: 60_000,
      lastCheckAt: "2026-05-12T13:59:00.000Z",
      nextCheckAt: "2126-05-12T14:00:00.000Z",
      dueAt: null,
      url: null,
    });
    expect(noon).toMatchObject({ dueAt: "2126-06-01T12:00:00.000Z", nextCheckAt: null, checks: 0 });
    expect(signed).toMatchObject({ state: "ended", endedBy: "ann", url: null });
    const behind = testApp({ db: pool, client: rig.client, publicUrl: "https://meridian.example/" });
    const seen = await get(behind, `/dags/orders/runs/${rig.runId}/waits?limit=1`, WaitList);
    expect(seen.waits[0]!.url).toBe(`https://meridian.example/api/v1/waits/${tokenOf("approval")}`);
    expect(seen.after).toBe(seen.waits[0]!.key);
    // The page that follows, and the one behind the last.
    const next = await get(app, `/dags/orders/runs/${rig.runId}/waits?limit=4&after=${seen.after}`, WaitList);
    expect(next.waits.map(({ taskId }) => taskId)).toEqual(["early", "file", "noon", "other"]);
    const last = await get(app, `/dags/orders/runs/${rig.runId}/waits?limit=4&after=${next.after}`, WaitList);
    expect([last.waits.map(({ taskId }) => taskId), last.after]).toEqual([["signed"], null]);
  });

  test("A6: over all runs: what is open, by DAG, task and kind, in pages, without addresses", async () => {
    const { pool } = rig.database;
    await pool.query("truncate app.wait");
    await insertDag(pool, "quiet");
    const runs: string[] = [];
    for (let n = 0; n < 3; n++) {
      await rig.newRun([
        waiting("a.b"),
        waiting("file", { kind: "sensor", everyMs: 1, timeoutMs: null }),
        waiting("c"),
      ]);
      runs.push(rig.runId);
      await rig.begin("a.b");
      await rig.begin("file", { kind: "sensor", every_ms: 60_000, next_in_ms: 60_000 });
      await rig.end(rig.byName("c"));
    }
    const names = async (query: string) =>
      (await get(app, `/waits${query}`, WaitList)).waits.map(
        ({ runId, taskId }) => `${runs.indexOf(runId)} ${taskId}`,
      );
    expect(await names("")).toEqual(["0 a.b", "0 file", "1 a.b", "1 file", "2 a.b", "2 file"]);
    expect(await names("?kind=sensor,run")).toEqual(["0 file", "1 file", "2 file"]);
    expect(await names("?dagId=orders&taskId=a.b")).toEqual(["0 a.b", "1 a.b", "2 a.b"]);
    expect(await names("?dagId=quiet")).toEqual([]);
    const paged: string[] = [];
    for (let after = ""; ;) {
      const page = await get(app, `/waits?limit=1${after}`, WaitList);
      paged.push(...page.waits.map(({ taskId }) => taskId));
      expect(page.waits.map(({ url }) => url)).toEqual([null]);
      if (page.after === null) break;
      after = `&after=${page.after}`;
    }
    expect(paged).toEqual(["a.b", "file", "a.b", "file", "a.b", "file"]);
    expect((await problemOf(await app.request("/api/v1/waits?dagId=nope"), 404)).code).toBe("no_dag");
    for (const query of ["?kind=until", "?after=x", "?after=1.-2.1.1.a", "?runId=x", "?limit=0"])
      expect((await problemOf(await app.request(`/api/v1/waits${query}`), 400)).code).toBe("bad_request");
  });
});
