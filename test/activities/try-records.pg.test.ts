import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { TryRecords } from "../../activities/try-records.ts";
import { isAway } from "../../db/connection.ts";
import { advance } from "../../db/pools/advance.ts";
import { recordTries } from "../../db/tries.ts";
import { createPool } from "../../platform/pg.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => await db.drop());

const RUN = Date.now() * 1000;
const key = (task_id: string, number = 1) => ({ run: RUN, task_id, map_index: -1, try: number });
const at = new Date().toISOString();
const start = (task_id: string, number = 1) => ({ ...key(task_id, number), worker: "w", at, inputs: {} });
const end = (task_id: string, number = 1, output: unknown = null) => ({
  ...key(task_id, number),
  state: "success" as const,
  at,
  error: null,
  output,
});
const states = async (task: string) =>
  (
    await db.pool.query<{ try: number; state: string }>(
      "select try, state from app.task_try where run = $1 and task_id = $2 order by try",
      [RUN, task],
    )
  ).rows.map((row) => `${row.try} ${row.state}`);

/** Between a pool and the database; once silent, what passes through the connections of before is lost without a word. */
async function silenceable(url: string): Promise<{ url: string; silence(): void; close(): void }> {
  const to = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe("B7: the record buffer", () => {
  it("half-open: a connection that went silent is given up, and the records are written by another", async () => {
    const wire = await silenceable(db.url);
    const pool = createPool(
      { url: wire.url, max: 2, applicationName: "half-open", queryTimeoutMs: 700 },
      () => undefined,
    );
    try {
      const errors: Error[] = [];
      const records = new TryRecords(
        pool,
        () => undefined,
        (error) => errors.push(error),
      );
      await records.started(start("half"));
      wire.silence();
      await records.ended(end("half"), []);
      expect(errors.map((error) => error.message)).toEqual(["Query read timeout"]);
      expect(errors.every(isAway)).toBe(true);
      expect(await states("half")).toEqual(["1 success"]);
    } finally {
      wire.close();
      await pool.end();
    }
  });

  it("two tries of one task that come together, after an outage, are both written; the cell is at the later", async () => {
    const errors: Error[] = [];
    const records = new TryRecords(
      db.pool,
      () => undefined,
      (error) => errors.push(error),
    );
    await Promise.all([
      records.started(start("a", 1)),
      records.started(start("a", 2)),
      records.ended(end("a", 1), []),
      records.ended(end("b"), []),
    ]);
    expect(errors).toEqual([]);
    expect(await states("a")).toEqual(["1 success", "2 running"]);
    const { rows } = await db.pool.query("select try, state from app.cell where run = $1 and task_id = 'a'", [
      RUN,
    ]);
    expect(rows).toEqual([{ try: 2, state: "running" }]);
  });

  it("poison: what the database refuses fails alone, and is told; the others of its batch are written", async () => {
    const errors: Error[] = [];
    const records = new TryRecords(
      db.pool,
      () => undefined,
      (error) => errors.push(error),
    );
    const bad = { ...end("bad"), at: "no instant" };
    const answers = await Promise.allSettled([
      records.started(start("c")),
      records.ended(bad, []),
      records.ended(end("c"), []),
      records.started(start("d")),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(errors).toHaveLength(2);
    expect([await states("c"), await states("d")]).toEqual([["1 success"], ["1 running"]]);
    await records.ended(end("d"), []);
    expect(await states("d")).toEqual(["1 success"]);
  });

  it("K58: an output's keys keep their order, in the database and at consumers", async () => {
    const records = new TryRecords(
      db.pool,
      () => undefined,
      () => undefined,
    );
    const output = { zeta: 1, b: { "10": 1, y: [{ q: 1, a: "\\u0000" }], c: 2 }, alpha: null };
    const text = JSON.stringify(output);
    await records.started(start("ordered"));
    await records.ended(end("ordered", 1, output), []);
    await advance(db.pool, [], [{ ...end("settled", 1, output), seq: 1, try_state: "success" }], []);
    for (const task of ["ordered", "settled"]) {
      const { rows } = await db.pool.query<{ output: unknown }>(
        "select output from app.task_try where run = $1 and task_id = $2",
        [RUN, task],
      );
      expect(rows.map((row) => JSON.stringify(row.output))).toEqual([text]);
      const reader = `reads_${task}`;
      const { inputs } = await recordTries(db.pool, [{ ...start(reader), inputs: { value: task } }], []);
      expect(inputs.map((input) => JSON.stringify(input.output))).toEqual([text]);
    }
  });

  it("an output that is stored already is kept", async () => {
    const records = new TryRecords(
      db.pool,
      () => undefined,
      () => undefined,
    );
    await records.started(start("large"));
    await db.pool.query("update app.task_try set output = '[1]' where run = $1 and task_id = 'large'", [RUN]);
    await records.ended(end("large"), []);
    const { rows } = await db.pool.query(
      "select output from app.task_try where run = $1 and task_id = 'large'",
      [RUN],
    );
    expect(rows).toEqual([{ output: [1] }]);
  });
});

/** Counts the statements that write records. */
function counted(): { readonly pool: TestDatabase["pool"]; readonly count: () => number } {
  let count = 0;
  const query = async (text: string, values: unknown[]) => {
    count += 1;
    return await db.pool.query(text, values);
  };
  return { pool: { query } as unknown as TestDatabase["pool"], count: () => count };
}

describe("A7: labels of instances in the live records", () => {
  const instance = (task_id: string, map_index: number, number = 1) => ({
    ...key(task_id, number),
    map_index,
  });
  const begin = (task: string, index: number) => ({ ...start(task), map_index: index });
  const done = (task: string, index: number) => ({ ...end(task), map_index: index });
  const labelsOf = async (task: string) =>
    (
      await db.pool.query<{ label: string | null }>(
        "select label from app.cell where run = $1 and task_id = $2 order by map_index",
        [RUN, task],
      )
    ).rows.map(({ label }) => label);

  it("A7: a label goes with the end of its try, and costs no statement", async () => {
    const { pool, count } = counted();
    const records = new TryRecords(
      pool,
      () => undefined,
      (error) => expect(error).toBeNull(),
    );
    await records.started(begin("short", 0));
    records.labelled({ ...instance("short", 0), label: "berlin" });
    await records.ended(done("short", 0), []);
    expect([await labelsOf("short"), count()]).toEqual([["berlin"], 2]);
  });

  it("A7: of a body that runs on alone it is written by itself; others come with whatever is written before", async () => {
    const { pool, count } = counted();
    const records = new TryRecords(
      pool,
      () => undefined,
      (error) => expect(error).toBeNull(),
    );
    await records.started(begin("long", 0));
    records.labelled({ ...instance("long", 0), label: "paris" });
    await vi.waitFor(async () => expect(await labelsOf("long")).toEqual(["paris"]), { timeout: 5_000 });
    expect(count()).toBe(2);
    records.labelled({ ...instance("long", 0), label: "rome" });
    await records.started(begin("other", 0));
    expect([await labelsOf("long"), count()]).toEqual([["rome"], 3]);
  });

  it("A7: a task that lacks the item takes the label of the same instance of another task", async () => {
    const records = new TryRecords(
      db.pool,
      () => undefined,
      (error) => expect(error).toBeNull(),
    );
    await Promise.all([0, 1].map(async (index) => await records.started(begin("fetch", index))));
    records.labelled({ ...instance("fetch", 0), label: "berlin" });
    records.labelled({ ...instance("fetch", 1), label: "paris" });
    await Promise.all([0, 1].map(async (index) => await records.ended(done("fetch", index), [])));
    for (const index of [0, 1]) {
      const started = records.started(begin("store", index));
      records.labelled({ ...instance("store", index), label: null, same_as: ["none", "fetch"] });
      await started;
      await records.ended(done("store", index), []);
    }
    expect(await labelsOf("store")).toEqual(["berlin", "paris"]);
  });

  it("A7: the label of an earlier try that comes late changes nothing; what is to run again has none yet", async () => {
    const records = new TryRecords(
      db.pool,
      () => undefined,
      (error) => expect(error).toBeNull(),
    );
    await records.started({ ...begin("again", 0), try: 2 });
    records.labelled({ ...instance("again", 0, 2), label: "new" });
    records.labelled({ ...instance("again", 0, 1), label: "old" });
    await records.ended({ ...done("again", 0), try: 2 }, []);
    expect(await labelsOf("again")).toEqual(["new"]);
    const record = { ...instance("again", 0, 2), output: null, error: null };
    const settled = { ...record, seq: 1, state: "success" as const, try_state: "success" as const };
    await advance(db.pool, [], [settled], []);
    expect(await labelsOf("again")).toEqual(["new"]);
    await advance(db.pool, [], [{ ...record, seq: 2, state: "none" as const, try_state: null }], []);
    expect(await labelsOf("again")).toEqual([null]);
  });

  it("A7: with the database away labels wait, and do not hold up what comes behind them", async () => {
    let isAwayNow = true;
    const errors: Error[] = [];
    const query = async (text: string, values: unknown[]) => {
      if (isAwayNow) throw Object.assign(new Error("away"), { code: "ECONNREFUSED" });
      return await db.pool.query(text, values);
    };
    const records = new TryRecords(
      { query } as unknown as TestDatabase["pool"],
      () => undefined,
      (error) => errors.push(error),
    );
    records.labelled({ ...instance("away", 0), label: "late" });
    const started = records.started(begin("away", 0));
    await vi.waitFor(() => expect(errors.length).toBeGreaterThan(0));
    isAwayNow = false;
    await started;
    await records.ended(done("away", 0), []);
    expect(await labelsOf("away")).toEqual(["late"]);
  });

  it("A7: labels that the database refuses are told, and the others are written", async () => {
    const errors: Error[] = [];
    const records = new TryRecords(
      db.pool,
      () => undefined,
      (error) => errors.push(error),
    );
    await Promise.all([records.started(begin("refused", 0)), records.started(begin("refused", 1))]);
    records.labelled({ ...instance("refused", 0), map_index: 1e12, label: "x" });
    records.labelled({ ...instance("refused", 1), label: "kept" });
    await vi.waitFor(async () => expect(await labelsOf("refused")).toEqual([null, "kept"]), {
      timeout: 5_000,
    });
    expect(errors.length).toBeGreaterThan(0);
  });
});
