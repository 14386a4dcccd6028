import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RunDetail, TryList } from "../../api/contracts.ts";
import { waiting, WaitsRig } from "../client/waits-rig.ts";
import { serialTask } from "../support/serial.ts";
import { insertCell, insertTry } from "./rows.ts";
import { get, testApp, type TestApp } from "./support.ts";

let rig: WaitsRig;
let app: TestApp;
beforeAll(async () => {
  rig = await WaitsRig.make(4);
  app = testApp({ db: rig.database.pool, client: rig.client });
});
afterAll(() => rig.database.drop());

describe("F16: why a deferred task waits", () => {
  const reasons = async () =>
    (await get(app, `/dags/orders/runs/${rig.runId}`, RunDetail)).waiting.map((one) => [
      one.taskId,
      one.reason,
    ]);

  test("F16: the run, and the tries of the task, say what it waits for and since when", async () => {
    await rig.newRun([waiting("approval"), waiting("b")]);
    await rig.begin("approval");
    await rig.begin("b", { expires_at: "2126-05-12T14:00:00Z" });
    const { waiting: shown } = await get(app, `/dags/orders/runs/${rig.runId}`, RunDetail);
    expect(shown).toMatchObject([
      { taskId: "approval", pool: null, slots: 0, try: 1, reason: "waits for somebody to end it" },
      { taskId: "b", reason: "waits for somebody to end it, until 2126-05-12T14:00:00Z" },
    ]);
    expect(Date.now() - Date.parse(shown[0]!.since)).toBeLessThan(60_000);
    const tries = await get(app, `/dags/orders/runs/${rig.runId}/tasks/b/tries`, TryList);
    expect(tries.waiting).toEqual(shown[1]);
    expect(tries.tries.map(({ state }) => state)).toEqual(["deferred"]);
  });

  test("F16: a wait that has ended unheard says so, and nothing once its run goes on", async () => {
    await rig.newRun([waiting("approval")]);
    rig.onSignal = () => {
      throw new Error("Temporal is away");
    };
    await rig.begin("approval");
    await rig.end(rig.byName("approval"));
    expect(await reasons()).toEqual([["approval", "its wait has ended, and its run is being told"]]);
    await rig.database.pool.query("update app.cell set state = 'success', phase = 3 where run = $1", [
      rig.run,
    ]);
    expect(await reasons()).toEqual([]);
  });

  test("F16: a sensor that nobody checks says whose workers are missed; one being checked says that", async () => {
    await rig.newRun([
      waiting("file", { kind: "sensor", everyMs: 60_000, timeoutMs: null }, { queue: "gpu" }),
    ]);
    await rig.begin("file", {
      kind: "sensor",
      every_ms: 60_000,
      queue: "gpu",
      next_at: "2026-05-09T00:00:00Z",
    });
    expect(await reasons()).toEqual([
      [
        "file",
        'waits for its check to say yes; checked once, the check of 2026-05-09T00:00:00Z is overdue: is there a worker of queue "gpu"?',
      ],
    ]);
    await rig.database.pool.query(
      "update app.wait set claimed_by = 'w', claimed_until = app.now() + interval '1 minute' where run = $1",
      [rig.run],
    );
    expect(await reasons()).toEqual([
      ["file", "waits for its check to say yes; checked once, being checked now"],
    ]);
  });

  test("A5 A6: the log of a try that is deferred is not done: it goes on after the wait", async () => {
    await rig.newRun([serialTask("body")]);
    await insertCell(rig.database.pool, rig.run, "body", "deferred");
    await insertTry(rig.database.pool, rig.run, "body", 1, "deferred");
    const logs = {
      read: async (_: unknown, offset: number) => ({ text: "", nextOffset: offset, done: true }),
    };
    const reading = testApp({ db: rig.database.pool, client: rig.client, logs });
    const path = `/api/v1/dags/orders/runs/${rig.runId}/tasks/body/tries/1/log`;
    expect(await (await reading.request(path)).json()).toMatchObject({ done: false });
    const stop = new AbortController();
    const response = await reading.request(`${path}/stream`, { signal: stop.signal });
    let text = "";
    const read = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        text += decoder.decode(chunk);
    })();
    await expect.poll(() => text).toContain("event: log");
    await rig.database.pool.query(
      "update app.task_try set state = 'success', ended_at = app.now() where run = $1",
      [rig.run],
    );
    await read;
    // Not before it had ended.
    expect(text).toContain('event: done\nid: 0\ndata: {"state":"success"}');
  });
});
