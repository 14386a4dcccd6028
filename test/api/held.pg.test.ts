import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TryList } from "../../api/contracts.ts";
import { WaitList } from "../../api/contracts-waits.ts";
import { event, waiting, WaitsRig } from "../client/waits-rig.ts";
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

const triesOf = async (taskId: string, query = "") =>
  await get(app, `/dags/orders/runs/${rig.runId}/tasks/${taskId}/tries${query}`, TryList);

/** A reason that was kept, from one second of the day to another. */
const keep = async (taskId: string, number: number, reason: string, since: number, until: number) => {
  const at = (second: number): string => new Date(Date.UTC(2026, 4, 9, 6, 0, second)).toISOString();
  await rig.database.pool.query(
    "insert into app.waited (run, task_id, try, reason, since, until) values ($1, $2, $3, $4, $5, $6)",
    [rig.run, taskId, number, reason, at(since), at(until)],
  );
  return { reason, since: at(since), until: at(until) };
};

describe("F16 A6: tries tell what held them up", () => {
  test("F16: why each waited for its slots, in order; of one that has not begun too", async () => {
    await rig.newRun([serialTask("load")]);
    await insertCell(rig.database.pool, rig.run, "load", "queued", { try: 2 });
    await insertTry(rig.database.pool, rig.run, "load", 1, "failed");
    const third = await keep("load", 2, "pool warehouse: all 4 slots are in use", 50, 59);
    const second = await keep("load", 1, "no worker of queue gpu", 14, 20);
    const first = await keep("load", 1, "pool warehouse: all 4 slots are in use", 2, 14);
    await keep("other", 1, "of another task", 2, 14);
    const { tries, notBegun } = await triesOf("load");
    expect(tries.map(({ waited, waits }) => [waited, waits])).toEqual([[[first, second], []]]);
    expect(notBegun).toEqual([{ try: 2, waited: [third], waits: [] }]);
  });

  test("A6: what each waited for without a slot, how it ended, by whom; the address of what is open", async () => {
    await rig.newRun([waiting("approval", event({ timeoutMs: 60_000 }))]);
    await rig.begin("approval", { resumes: true });
    await rig.end(rig.byName("approval"), { ok: true });
    await rig.begin("approval", { wait: 2, resumes: true });
    const [{ waits }, ...others] = (await triesOf("approval")).tries as [TryList["tries"][number]];
    expect(others).toEqual([]);
    expect(waits).toMatchObject([
      { wait: 1, kind: "event", state: "ended", endedAs: "success", endedBy: "ann", reason: null, url: null },
      { wait: 2, kind: "event", state: "open", endedAs: null, reason: "waits for somebody to end it" },
    ]);
    const listed = await get(app, `/dags/orders/runs/${rig.runId}/waits`, WaitList);
    expect(waits[1]!.url).toBe(listed.waits[1]!.url);
    expect(waits[1]!.url).toContain("/api/v1/waits/");
  });

  test("A6: one that was ended ahead of its beginning is of a try that has not begun", async () => {
    await rig.newRun([waiting("approval")]);
    await rig.end(rig.byName("approval"), 1);
    const { tries, notBegun } = await triesOf("approval");
    expect(tries).toEqual([]);
    expect(notBegun).toMatchObject([
      { try: 1, waited: [], waits: [{ since: null, endedBy: "ann", url: null }] },
    ]);
  });

  test("A6: instances have their own; the other run that is waited for has its name", async () => {
    const every = { everyMs: 60_000, timeoutMs: null };
    await rig.newRun([waiting("other", { kind: "run", dagId: "x", taskId: "load", beforeMs: 0, ...every })]);
    const spec = { dag_id: "x", run_id: "2026-05-09T00-00-00Z", task_id: "load" };
    for (const map_index of [0, 1])
      await rig.begin("other", { map_index, kind: "run", every_ms: 60_000, next_in_ms: 60_000, spec });
    const { tries } = await triesOf("other", "?mapIndex=1");
    expect(tries.flatMap((one) => one.waits.map(({ other }) => other))).toEqual([
      { dagId: "x", runId: "2026-05-09T00-00-00Z", taskId: "load" },
    ]);
  });
});

test("A6: open waits are found by a part of the DAG's, the run's or the task's id", async () => {
  await rig.newRun([waiting("sign.off"), waiting("file")]);
  await rig.begin("sign.off");
  await rig.begin("file");
  const found = async (search: string) =>
    (await get(app, `/waits?search=${encodeURIComponent(search)}`, WaitList)).waits
      .filter(({ runId }) => runId === rig.runId)
      .map(({ taskId }) => taskId);
  expect(await found("N.OF")).toEqual(["sign.off"]);
  expect(await found("rder")).toEqual(["file", "sign.off"]);
  expect(await found(rig.runId)).toEqual(["file", "sign.off"]);
  expect(await found("_")).toEqual([]);
});
