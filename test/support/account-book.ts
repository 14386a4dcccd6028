import { closeRuns, createRuns, openRun } from "../../db/runs.ts";
import type { RecordRow, RequestRow } from "../../db/pools/advance.ts";
import { upsertDagAccounts } from "../../db/dags/upsert-dag-accounts.ts";
import type { TryState } from "../../core/states.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** A database with a dag "d" whose runs and tries ask for what they need. */
export class AccountBook {
  readonly db: TestDatabase;
  #version = 0;
  #runs = 0;

  private constructor(db: TestDatabase) {
    this.db = db;
  }

  static async make(): Promise<AccountBook> {
    const book = new AccountBook(await createTestDatabase());
    const { pool } = book.db;
    await pool.query("insert into app.bundle (hash, code) values ('b', '')");
    await pool.query(
      `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard) values ('d', 'd.ts', '{"kind":"manual"}', 'h', 1000, 0)`,
    );
    const { rows } = await pool.query<{ version: number }>(
      "insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file) values ('d', 1, 'h', '{}', 'b', 'd.ts') returning version",
    );
    book.#version = rows[0]!.version;
    return book;
  }

  get version(): number {
    return this.#version;
  }

  /** No lease, no account but 1,000 places for runs of "d". */
  async clear(): Promise<void> {
    await this.db.pool.query("delete from app.lease");
    await this.db.pool.query("delete from app.account where key <> 'pool:default_pool'");
    await this.limit({});
  }

  async setPool(name: string, slots: number): Promise<void> {
    await this.db.pool.query(
      "insert into app.account (key, slots) values ($1, $2) on conflict (key) do update set slots = excluded.slots",
      [`pool:${name}`, slots],
    );
  }

  /** Of the dag "d". */
  async limit({
    tasks = null,
    byTask = {},
  }: {
    tasks?: number | null;
    byTask?: Record<string, number>;
  }): Promise<void> {
    await upsertDagAccounts(this.db.pool, [{ dag_id: "d", runs: 1000, tasks, by_task: byTask }]);
  }

  /** A dag whose runs belong to a tenant and are of a class. */
  async addDag(dagId: string, tenant: string | null, priorityClass = 1): Promise<void> {
    await this.db.pool.query(
      `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard, tenant, class)
       values ($1, 'd.ts', '{"kind":"manual"}', 'h', 1000, 0, $2, $3)
       on conflict (dag_id) do update set tenant = excluded.tenant, class = excluded.class`,
      [dagId, tenant, priorityClass],
    );
    await upsertDagAccounts(this.db.pool, [{ dag_id: dagId, runs: 1000, tasks: null, by_task: {} }]);
  }

  async setAccount(
    key: string,
    slots: number,
    more: { cohort?: string; most?: number; core_hours?: number } = {},
  ): Promise<void> {
    await this.db.pool.query(
      `insert into app.account (key, slots, cohort, most, core_hours) values ($1, $2, $3, $4, $5)
       on conflict (key) do update set slots = excluded.slots, cohort = excluded.cohort, most = excluded.most, core_hours = excluded.core_hours`,
      [key, slots, more.cohort ?? null, more.most ?? null, more.core_hours ?? null],
    );
  }

  async newRun(dagId = "d", runType: "manual" | "scheduled" | "backfill" = "manual"): Promise<number> {
    const at = new Date(Date.UTC(2026, 0, 1) + this.#runs++ * 60_000).toISOString();
    const [run] = await createRuns(this.db.pool, [
      {
        dag_id: dagId,
        run_id: at,
        run_type: runType,
        logical_at: at,
        start_at: at,
        end_at: at,
        version: this.#version,
        who: "test",
        first: null,
      },
    ]);
    await openRun(this.db.pool, run!.run);
    return run!.run;
  }

  async close(run: number): Promise<boolean> {
    return await closeRuns(this.db.pool, [
      { run, records: [], state: "success", reason: null, progress: null },
    ]);
  }

  /** Slots of a pool that are in use. */
  async used(pool: string): Promise<number> {
    const { rows } = await this.db.pool.query<{ used: number }>(
      "select coalesce(sum(slots), 0)::integer as used from app.lease where account = $1 and granted_at is not null",
      [`pool:${pool}`],
    );
    return rows[0]!.used;
  }

  /** The tasks that have their slots, or wait for them. */
  async tasks(is: "granted" | "waiting"): Promise<string[]> {
    const { rows } = await this.db.pool.query<{ task_id: string }>(
      `select task_id from app.lease where task_id <> '' and granted_at is ${is === "granted" ? "not null" : "null"} order by task_id`,
    );
    return rows.map((row) => row.task_id);
  }

  async reasonOf(task: string): Promise<string | null> {
    const { rows } = await this.db.pool.query<{ reason: string | null }>(
      "select reason from app.lease where task_id = $1",
      [task],
    );
    return rows[0]!.reason;
  }
}

export const ask = (
  run: number,
  task_id: string,
  account: string,
  slots = 1,
  priority = 1,
  number = 1,
): RequestRow => ({
  run,
  task_id,
  map_index: -1,
  try: number,
  account: `pool:${account}`,
  slots,
  priority,
});

export const started = (run: number, task_id: string, number = 1) => ({
  run,
  task_id,
  map_index: -1,
  try: number,
  worker: "w",
  at: new Date().toISOString(),
  inputs: {},
});

export const ended = (run: number, task_id: string, number = 1, state: TryState = "success") => ({
  run,
  task_id,
  map_index: -1,
  try: number,
  state,
  at: new Date().toISOString(),
  error: null,
  output: null,
});

export const settled = (run: number, seq: number, task_id: string, number = 1): RecordRow => ({
  run,
  seq,
  task_id,
  map_index: -1,
  try: number,
  state: "success",
  try_state: "success",
  error: null,
  output: null,
});
