import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Changes } from "../../api/contracts.ts";
import { Live, type LiveOptions } from "../../api/live/live.ts";
import type { LiveEvent } from "../../api/live/subscriber.ts";
import { transaction, type Db } from "../../db/connection.ts";
import { CHANGED_CELLS, CHANGED_RUNS, readMoment } from "../../db/read/changes.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertCell, insertDag, insertRun } from "./rows.ts";

let database: TestDatabase;
let pool: pg.Pool;
const lives: Live[] = [];

beforeAll(async () => {
  database = await createTestDatabase("live", 20);
  pool = database.pool;
  for (const dagId of ["sales", "other", "quiet"]) await insertDag(pool, dagId);
});
afterAll(async () => {
  for (const live of lives) live.stop();
  await database.drop();
});

let day = 0;
const nextDate = () => new Date(Date.UTC(2026, 0, (day += 1))).toISOString();

function newLive(options: LiveOptions = {}, db: Db = pool): Live {
  const live = new Live(db, { restMs: 20, ...options });
  lives.push(live);
  return live;
}

/** A subscriber that has had its first event. */
async function subscribe(live: Live, dagId: string | null, lastId: string | null = null) {
  const stop = new AbortController();
  const events = live.follow(dagId, lastId, stop.signal);
  const first = (await events.next()).value as LiveEvent;
  let lastSeen = first.id;
  return {
    first,
    lastId: () => lastSeen,
    /** Events until what was seen so far passes the check. */
    async until(check: (seen: Seen) => boolean, seen: Seen = newSeen(first)): Promise<Seen> {
      while (!check(seen)) {
        const { value } = await events.next();
        const event = value as LiveEvent;
        lastSeen = event.id;
        see(seen, event);
      }
      return seen;
    },
    async stop() {
      stop.abort();
      await events.return();
    },
  };
}

interface Seen {
  events: number;
  reloads: number;
  /** Last state by `run id` and by `run id/task`. */
  readonly states: Record<string, string>;
  readonly dags: Set<string>;
  dial: number;
}
function newSeen(first: LiveEvent): Seen {
  const seen: Seen = { events: 0, reloads: 0, states: {}, dags: new Set(), dial: 0 };
  see(seen, first);
  return seen;
}
function see(seen: Seen, event: LiveEvent): void {
  seen.events += 1;
  if (event.kind === "reload") seen.reloads += 1;
  else seeChanges(seen, event.changes);
}
function seeChanges(seen: Seen, changes: Changes): void {
  for (const run of changes.runs) seen.states[run.runId] = run.state;
  for (const { runId, cells } of changes.cells)
    for (const c of cells) seen.states[`${runId}/${c.taskId}`] = c.state;
  for (const dagId of changes.dags) seen.dags.add(dagId);
  if (changes.dial === true) seen.dial += 1;
}

const runIdOf = async (run: number, db: Db = pool): Promise<string> =>
  (await db.query<{ run_id: string }>("select run_id from app.dag_run where run = $1", [run])).rows[0]!
    .run_id;
const setRun = async (run: number, state: string, db: Db = pool) =>
  await db.query("update app.dag_run set state = $2 where run = $1", [run, state]);
const setCell = async (run: number, taskId: string, state: string, db: Db = pool) =>
  await db.query(
    `insert into app.cell (run, task_id, state, try) values ($1, $2, $3, 1)
     on conflict (run, task_id, map_index) do update set state = excluded.state`,
    [run, taskId, state],
  );

describe("C1: what changes is told", () => {
  test("runs and cells of a DAG; runs alone to whoever follows all", async () => {
    const live = newLive();
    const sales = await subscribe(live, "sales");
    const all = await subscribe(live, null);
    expect(sales.first).toMatchObject({ kind: "changes", changes: { runs: [], cells: [], dags: [] } });
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    await insertCell(pool, run, "extract", "running");
    const elsewhere = await insertRun(pool, "other", nextDate(), { state: "running" });
    await insertCell(pool, elsewhere, "extract", "running");
    const seen = await sales.until(
      ({ states }) => states[`${id}/extract`] === "running" && states[id] === "running",
    );
    await setCell(run, "extract", "success");
    await setCell(run, "load", "queued");
    await setRun(run, "success");
    await sales.until(({ states }) => states[id] === "success" && states[`${id}/load`] === "queued", seen);
    expect(seen.states).toEqual({ [id]: "success", [`${id}/extract`]: "success", [`${id}/load`]: "queued" });
    const runs = await all.until(({ states }) => states[id] === "success");
    expect(runs.states).toEqual({ [id]: "success", [await runIdOf(elsewhere)]: "running" });
    expect(seen.reloads + runs.reloads).toBe(0);
  });

  test("B16: a turn of the emergency dial, to everybody within a second, and once", async () => {
    const live = newLive({ restMs: 150 });
    const [sales, all] = [await subscribe(live, "sales"), await subscribe(live, null)];
    const at = Date.now();
    await pool.query("insert into app.dial (who, reason, tries) values ('ada', 'slow', 1)");
    await Promise.all([sales, all].map(async (one) => await one.until(({ dial }) => dial === 1)));
    expect(Date.now() - at).toBeLessThan(1000);
    expect((await subscribe(live, null)).first).not.toMatchObject({ changes: { dial: true } });
  });

  test("a run that was made and ended between two looks, and one that ran before", async () => {
    const old = await insertRun(pool, "sales", nextDate(), { state: "running" });
    await insertCell(pool, old, "extract", "running");
    const sales = await subscribe(newLive({ restMs: 300 }), "sales");
    const run = await insertRun(pool, "sales", nextDate(), { state: "success" });
    await insertCell(pool, run, "extract", "success");
    await setCell(old, "extract", "failed");
    await setRun(old, "failed");
    const [id, oldId] = [await runIdOf(run), await runIdOf(old)];
    const seen = await sales.until(({ states }) => states[id] !== undefined && states[oldId] !== undefined);
    expect(seen.states).toEqual({
      [id]: "success",
      [`${id}/extract`]: "success",
      [oldId]: "failed",
      [`${oldId}/extract`]: "failed",
    });
  });

  test("transactions that commit in another order than they began", async () => {
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    const sales = await subscribe(newLive(), "sales");
    let made = 0;
    const early = await pool.connect();
    await early.query("begin");
    await setCell(run, "early", "success", early);
    made = await insertRun(early as unknown as pg.Pool, "sales", nextDate(), { state: "success" });
    const madeId = await runIdOf(made, early);
    // Younger ones come and go meanwhile, each told once, though the old one is under way.
    let seen: Seen | undefined;
    for (let i = 0; i < 5; i++) {
      await setCell(run, `late${i}`, "success");
      seen = await sales.until(({ states }) => states[`${id}/late${i}`] === "success", seen);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(seen!.states[`${id}/early`]).toBeUndefined();
    await early.query("commit");
    early.release();
    await sales.until(
      ({ states }) => states[`${id}/early`] === "success" && states[madeId] === "success",
      seen,
    );
    expect(seen!.events).toBeLessThanOrEqual(8);
  });

  test("a DAG that is paused, and one with a new version", async () => {
    const all = await subscribe(newLive(), null);
    await pool.query("select app.set_paused('quiet', true, 'ann', null)");
    const seen = await all.until(({ dags }) => dags.size > 0);
    expect([...seen.dags]).toEqual(["quiet"]);
  });

  test("thousands of changes are told in few events, with the last state of each", async () => {
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    const sales = await subscribe(newLive({ restMs: 100 }), "sales");
    for (const state of ["queued", "running", "success"]) {
      for (let part = 0; part < 10; part++) {
        await pool.query(
          `insert into app.cell (run, task_id, state) select $1, 't' || i, $2 from generate_series($3::int, $3 + 199) i
           on conflict (run, task_id, map_index) do update set state = excluded.state`,
          [run, state, part * 200],
        );
      }
    }
    const done = ({ states }: Seen) =>
      states[`${id}/t1999`] === "success" && states[`${id}/t0`] === "success";
    const seen = await sales.until(done);
    expect(
      Object.entries(seen.states).filter(([key, state]) => key.includes("/t") && state === "success"),
    ).toHaveLength(2000);
    expect(seen.events).toBeLessThan(30);
  });
});

describe("C1: who comes back", () => {
  test("after a break nothing is missed, here and at another process", async () => {
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    const [here, there] = [newLive(), newLive()];
    const other = await subscribe(there, "sales");
    const first = await subscribe(here, "sales");
    await setCell(run, "a", "running");
    await first.until(({ states }) => states[`${id}/a`] === "running");
    await other.until(({ states }) => states[`${id}/a`] === "running");
    const lastId = first.lastId();
    await first.stop();
    await setCell(run, "b", "success");
    await setRun(run, "success");
    await other.until(({ states }) => states[id] === "success");
    for (const live of [here, there]) {
      const back = await subscribe(live, "sales", lastId);
      const seen = await back.until(
        ({ states }) => states[id] === "success" && states[`${id}/b`] === "success",
      );
      expect(seen.reloads).toBe(0);
      // What is told already does not come again, however long nothing happens.
      const again = await subscribe(live, "sales", back.lastId());
      expect(again.first).toMatchObject({ kind: "changes", changes: { runs: [], cells: [] } });
    }
  });

  test("a process that did not look meanwhile says so", async () => {
    const watcher = await subscribe(newLive(), "sales");
    const lastId = watcher.lastId();
    await setRun(await insertRun(pool, "sales", nextDate(), { state: "running" }), "success");
    expect((await subscribe(newLive(), "sales", lastId)).first.kind).toBe("reload");
    // One that looked at another DAG's cells only.
    const there = newLive();
    const other = await subscribe(there, "other");
    expect((await subscribe(there, "sales", other.lastId())).first.kind).toBe("reload");
  });

  test("an id of another kind is refused", async () => {
    await expect(newLive().follow(null, "yesterday", AbortSignal.abort()).next()).rejects.toMatchObject({
      code: "bad_event_id",
    });
  });
});

describe("C1: the price", () => {
  /** Counts statements, and can be away. */
  function countingDb() {
    const state = { statements: 0, isAway: false };
    const db: Db = {
      query: ((...args: unknown[]) => {
        state.statements += 1;
        if (state.isAway) return Promise.reject(new Error("away"));
        return (pool.query as (...all: unknown[]) => unknown)(...args);
      }) as Db["query"],
    };
    return { state, db };
  }

  test("a look reads open runs, new ones, and cells of the runs that it names, by their keys", async () => {
    await pool.query(
      `insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version)
       select (extract(epoch from now()) * 1000)::bigint * 1000 - i * 1000 + 999, 'many', i::text, 'scheduled', now(), now(), now(), 'success', 1
       from generate_series(1, 20000) i`,
    );
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    await pool.query(
      "insert into app.cell (run, task_id, state) select $1::bigint - i, 'x', 'success' from generate_series(1, 20000) i",
      [run],
    );
    await insertCell(pool, run, "extract", "running");
    await pool.query("analyze app.dag_run, app.cell");
    const { xmin } = await readMoment(pool);
    const plan = async (sql: string, values: unknown[]): Promise<string> => {
      const { rows } = await pool.query<{ "QUERY PLAN": string }>(`explain ${sql}`, values);
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    };
    const runs = await plan(CHANGED_RUNS, [String(xmin), [run], run]);
    expect(runs).toMatch(/using dag_run_\d{4}_\d\d_dag_id_state_idx/);
    // Months without rows are read whole.
    const month = (
      await pool.query<{ name: string }>(
        "select app.cell.tableoid::regclass::text as name from app.cell where run = $1",
        [run],
      )
    ).rows[0]!.name.replace("app.cell_", "");
    expect(runs).not.toContain(`Seq Scan on dag_run_${month}`);
    const cells = await plan(CHANGED_CELLS, [[run], String(xmin)]);
    expect(cells).toMatch(/cell_\d{4}_\d\d_pkey/);
    expect(cells).not.toContain(`Seq Scan on cell_${month}`);
  });

  test("a hundred subscribers share one reader; without any, nothing is read", async () => {
    const { state, db } = countingDb();
    const live = newLive({ restMs: 50, lingerMs: 0 }, db);
    const many = await Promise.all(Array.from({ length: 100 }, () => subscribe(live, "sales")));
    state.statements = 0;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(state.statements).toBeGreaterThan(1);
    // One cheap question for each of ten looks; a few more for each, since other tests' transactions end on this server.
    expect(state.statements).toBeLessThan(60);
    expect(live.subscribers).toBe(100);
    await Promise.all(many.map((one) => one.stop()));
    expect(live.subscribers).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = state.statements;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(state.statements).toBe(before);
    // The next one begins anew.
    const again = await subscribe(live, "sales");
    expect(again.first.kind).toBe("changes");
    await again.stop();
  });

  test("a subscriber who does not read holds the last states, and beyond a bound nothing", async () => {
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    const live = newLive();
    const slow = await subscribe(live, "sales");
    const quick = await subscribe(live, "sales");
    for (let i = 0; i < 5; i++) await setCell(run, "again", i % 2 === 0 ? "queued" : "running");
    await setCell(run, "again", "success");
    await quick.until(({ states }) => states[`${id}/again`] === "success");
    const seen = await slow.until(({ states }) => states[`${id}/again`] !== undefined);
    expect(seen.events).toBe(2);
    expect(seen.states[`${id}/again`]).toBe("success");
    await pool.query(
      "insert into app.cell (run, task_id, state) select $1, 'm' || i, 'queued' from generate_series(1, 20001) i",
      [run],
    );
    const over = await slow.until(({ reloads }) => reloads > 0);
    expect(Object.keys(over.states)).toHaveLength(0);
  });

  test("with the database away it goes on, and misses nothing", async () => {
    const { state, db } = countingDb();
    const errors: Error[] = [];
    const run = await insertRun(pool, "sales", nextDate(), { state: "running" });
    const id = await runIdOf(run);
    const sales = await subscribe(newLive({ onError: (error) => errors.push(error) }, db), "sales");
    state.isAway = true;
    await setCell(run, "extract", "running");
    await vi.waitFor(() => expect(errors).toHaveLength(1), 10_000);
    await transaction(pool, async (client) => {
      await setCell(run, "extract", "success", client);
      await setRun(run, "success", client);
    });
    state.isAway = false;
    const seen = await sales.until(({ states }) => states[id] === "success");
    expect(seen.states[`${id}/extract`]).toBe("success");
    expect(errors.map((error) => error.message)).toEqual(["away"]);
  });
});
