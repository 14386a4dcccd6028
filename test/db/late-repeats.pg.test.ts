/** Calls that Temporal gave up and that the database performs all the same, when the run has long gone on. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { advance, type RecordRow, type RequestRow } from "../../db/pools/advance.ts";
import { recordTries } from "../../db/tries.ts";
import { beginWaits, endWaits, takeUntoldWaits, waitsKnown } from "../../db/waits.ts";
import { WaitsRig } from "../client/waits-rig.ts";
import { serialTask } from "../support/serial.ts";

let rig: WaitsRig;
beforeAll(async () => {
  rig = await WaitsRig.make(3);
  await rig.database.pool.query(
    "insert into app.account (key, slots) values ('pool:p', 10) on conflict do nothing",
  );
});
afterAll(async () => await rig.database.drop());
beforeEach(async () => await rig.newRun([serialTask("body")]));

const tryKey = () => ({ run: rig.run, task_id: "body", map_index: -1, try: 1 });
const request = (wait?: number): RequestRow => ({
  ...tryKey(),
  account: "pool:p",
  slots: 1,
  priority: 1,
  ...(wait !== undefined && { wait }),
});
const waits = (seq: number): RecordRow => ({
  ...tryKey(),
  seq,
  state: "deferred",
  try_state: null,
  error: null,
  output: null,
});
const wait = (number: number) => ({
  ...tryKey(),
  wait: number,
  kind: "event" as const,
  resumes: true,
  spec: {},
});
const ask = async (one: RequestRow) => await advance(rig.database.pool, [rig.run], [], [one]);

/** A part of the try runs, and then waits for the `number`th time. */
async function runAndWait(number: number): Promise<void> {
  const { pool } = rig.database;
  const at = new Date().toISOString();
  await recordTries(pool, [{ ...tryKey(), worker: "w", at, inputs: {} }], []);
  await beginWaits(pool, [wait(number)]);
  await recordTries(pool, [], [{ ...tryKey(), state: "deferred", at, error: null, output: null }]);
  await advance(pool, [rig.run], [waits(number)], []);
}
const end = async (number: number): Promise<void> =>
  void (await endWaits(rig.database.pool, [
    { ...wait(number), ended_as: "success", ended_by: "a", payload: String(number) },
  ]));

async function stands() {
  const { pool } = rig.database;
  const { rows } = await pool.query("select state, phase from app.cell where run = $1", [rig.run]);
  const { rowCount } = await pool.query("select from app.lease where run = $1 and task_id = 'body'", [
    rig.run,
  ]);
  return { ...rows[0], leases: rowCount };
}

describe("A6 B11: calls that are repeated late", () => {
  it("regression: the first request of a try that waits by now takes no slot, and changes no cell", async () => {
    await ask(request());
    await runAndWait(1);
    expect(await stands()).toEqual({ state: "deferred", phase: -1, leases: 0 });
    await ask(request());
    expect(await stands()).toEqual({ state: "deferred", phase: -1, leases: 0 });
  });

  it("regression: the request of a body that went on does not silence the end of its next wait, or take a slot", async () => {
    await ask(request());
    await runAndWait(1);
    await end(1);
    const { grants } = await ask(request(1));
    expect(grants).toEqual([{ ...tryKey(), wait: 1 }]);
    await runAndWait(2);
    await end(2);
    await ask(request(1));
    expect(await stands()).toEqual({ state: "deferred", phase: -1, leases: 0 });
    const untold = await takeUntoldWaits(rig.database.pool, 10, 5_000);
    expect(untold.map((one) => one.wait)).toEqual([2]);
  });

  it("regression: the closing of a run that was opened again ends neither it nor its waits", async () => {
    const { pool } = rig.database;
    const closing = JSON.stringify([
      { run: rig.run, records: [], state: "failed", reason: null, run_state: { seq: 3 } },
    ]);
    await pool.query("select app.close_runs($1)", [closing]);
    await pool.query("select * from app.reopen_run($1, '[]', $2, null)", [rig.run, { seq: 5 }]);
    await rig.begin("body", { try: 2 });
    await pool.query("select app.close_runs($1)", [closing]);
    const { rows } = await pool.query(
      "select r.state, w.ended_as, w.known from app.wait w join app.dag_run r using (run) where w.run = $1",
      [rig.run],
    );
    expect(rows).toEqual([{ state: "queued", ended_as: null, known: false }]);
  });

  it("regression: a run that was reset, and begins a wait again that has ended, is told of that end", async () => {
    const { pool } = rig.database;
    await rig.begin("body", { resumes: true });
    await end(1);
    await waitsKnown(pool, [wait(1)]);
    expect(await beginWaits(pool, [wait(1)])).toBe(true);
    expect(await takeUntoldWaits(pool, 10, 5_000)).toHaveLength(1);
  });
});

describe("A6 B11: what a crash of the database takes", () => {
  it("regression: the slot of a try that waits comes back with the run's word, though the worker's was lost", async () => {
    const { pool } = rig.database;
    await ask(request());
    const at = new Date().toISOString();
    await recordTries(pool, [{ ...tryKey(), worker: "w", at, inputs: {} }], []);
    await beginWaits(pool, [wait(1)]);
    expect(await stands()).toMatchObject({ leases: 1 });
    await advance(pool, [rig.run], [waits(1)], []);
    expect(await stands()).toEqual({ state: "deferred", phase: -1, leases: 0 });
    await end(1);
    await ask(request(1));
    // The same word, late: the slot it has asked for since stays.
    await advance(pool, [rig.run], [waits(1)], []);
    expect(await stands()).toMatchObject({ leases: 1 });
  });
});
