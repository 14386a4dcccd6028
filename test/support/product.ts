import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@temporalio/client";
import pg from "pg";
import { inject } from "vitest";
import { createClient } from "../../client/client.ts";
import { RunStarter } from "../../client/starter.ts";
import type { MeridianClient } from "../../client/types.ts";
import { readConfig, type Config } from "../../platform/config.ts";
import { Life } from "../../platform/life.ts";
import { createLog } from "../../platform/log.ts";
import { createLocalLogStore } from "../../platform/logs/local.ts";
import type { LogStore } from "../../platform/logs/store.ts";
import { openObjects } from "../../platform/objects/open.ts";
import { ensureSearchAttributes } from "../../platform/search-attributes.ts";
import { connectClient, connectNative } from "../../platform/temporal.ts";
import { createProcessor, type Processor } from "../../processor/processor.ts";
import { createDueRuns } from "../../schedules/create-runs.ts";
import { installRuntime } from "../../worker/runtime.ts";
import { startWorker } from "../../worker/worker.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Product {
  readonly config: Config;
  readonly env: Record<string, string>;
  readonly pool: pg.Pool;
  readonly temporal: Client;
  readonly client: MeridianClient;
  readonly logs: LogStore;
  readonly processor: Processor;
  /** The clock that runs are created by; real time unless set. */
  at: number | null;
  /** Writes a DAG file; stored when this resolves. `text` is the body of a module that has `dag` and `task`. */
  save(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
  createDue(dagIds?: readonly string[]): Promise<number>;
  run(dagId: string, runId: string): Promise<RunView>;
  /** Waits until the run has ended. */
  ended(dagId: string, runId: string, withinMs?: number): Promise<RunView>;
  runs(
    dagId: string,
  ): Promise<{ run_id: string; state: string; run_type: string; start_at: Date; end_at: Date }[]>;
  stop(): Promise<void>;
}

interface RunView {
  readonly run: number;
  readonly state: string;
  readonly reason: string | null;
  readonly cells: Record<string, string>;
  readonly tries: readonly TryView[];
}

export interface TryView {
  readonly task_id: string;
  readonly try: number;
  readonly state: string;
  readonly worker: string | null;
  readonly started_at: Date;
  readonly ended_at: Date | null;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly error: any;
  readonly output: unknown;
}

export interface ProductOptions {
  /** false: no worker in this process (a test starts its own). */
  readonly worker?: boolean;
  readonly env?: Record<string, string>;
  /** Another process of that product: its database, task queue and folders. To be stopped before it. */
  readonly beside?: Product;
}

/** A database and a task queue of its own on the shared servers; DAG ids must be the test's own, as workflow ids are. */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const { beside } = options;
  const name = beside?.config.taskQueue ?? `t_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const home = join(ROOT, ".meridian", name);
  const folder = join(home, "dags");
  mkdirSync(folder, { recursive: true });
  const database = beside === undefined ? await createTestDatabase() : sharedDatabase(beside);
  const env: Record<string, string> = {
    MERIDIAN_HOME: home,
    MERIDIAN_DAGS: folder,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    MERIDIAN_TASK_QUEUE: name,
    MERIDIAN_LOST_AFTER_MS: "2000",
    MERIDIAN_RECONCILE_MS: "1000",
    MERIDIAN_DRAIN_MS: "2000",
    ...options.env,
  };
  const config = readConfig(env);
  const log = createLog("error", "test");
  installRuntime(log);
  const life = new Life(log);
  life.onEnd("database", async () => await database.drop());
  if (beside === undefined) life.onEnd("folder", () => rmSync(home, { recursive: true, force: true }));
  const { pool } = database;
  const address = config.temporalAddress!;
  const plain = await connectClient(config, address);
  life.onEnd("client", async () => await plain.connection.close());
  await ensureSearchAttributes(plain, config.temporalNamespace);
  const logs = createLocalLogStore({ folder: join(home, "logs") });
  const clock = (): number => product.at ?? Date.now();
  let temporal = plain;
  let starter = new RunStarter({
    pool,
    temporal,
    taskQueue: config.taskQueue,
    lostAfterMs: config.lostAfterMs,
    turnOverEvents: config.turnOverEvents,
    eager: false,
    onError: () => undefined,
  });
  if (options.worker !== false) {
    const connection = await connectNative(config, address);
    life.onEnd("connection", async () => await connection.close());
    const objects = await openObjects(config);
    ({ temporal, starter } = await startWorker(
      { config, pool, connection, logs, objects, log, clock },
      life,
    ));
  }
  const due = { pool, starter, clock };
  const processor = createProcessor({ pool, folder, home, log, onStored: () => undefined });
  life.onEnd("processor", async () => await processor.stop());
  const createDue = async (dagIds?: readonly string[]) => await createDueRuns(due, 0, 1, dagIds ?? null);
  const product: Product = {
    config,
    env,
    pool,
    temporal,
    logs,
    processor,
    at: null,
    client: createClient({ ...due, onDue: createDue }),
    async save(file, text) {
      writeFileSync(
        join(folder, file),
        `import { dag, task, skip, fail, defer } from "meridian";\nvoid [dag, task, skip, fail, defer];\n${text}\n`,
      );
      await processor.pass();
      const { rows } = await pool.query<{ error: { message: string } }>(
        "select error from app.dag_file where path = $1 and error is not null",
        [file],
      );
      if (rows.length > 0) throw new Error(`${file}: ${rows[0]!.error.message}`);
    },
    async remove(file) {
      rmSync(join(folder, file));
      await processor.pass();
    },
    createDue,
    run: async (dagId, runId) => await viewRun(pool, dagId, runId),
    async ended(dagId, runId, withinMs = 30_000) {
      for (const until = Date.now() + withinMs; ;) {
        // Its state alone: reading thousands of tries each time would keep the worker in this process from its work.
        const { rows } = await pool.query<{ state: string }>(
          "select state from app.dag_run where dag_id = $1 and run_id = $2",
          [dagId, runId],
        );
        const state = rows[0]?.state;
        if (state !== undefined && !["queued", "running"].includes(state))
          return await viewRun(pool, dagId, runId);
        if (Date.now() > until)
          throw new Error(
            `${dagId} ${runId} is ${state}: ${JSON.stringify(await viewRun(pool, dagId, runId))}`,
          );
        await sleep(50);
      }
    },
    async runs(dagId) {
      const { rows } = await pool.query(
        "select run_id, state, run_type, start_at, end_at from app.dag_run where dag_id = $1 order by logical_at",
        [dagId],
      );
      return rows;
    },
    stop: async () => await life.end(),
  };
  return product;
}

function sharedDatabase(product: Product): Pick<TestDatabase, "url" | "pool" | "drop"> {
  const url = product.env["DATABASE_URL"]!;
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  pool.on("error", () => {});
  return { url, pool, drop: async () => await pool.end() };
}

export const sleep = async (ms: number): Promise<void> => await new Promise((done) => setTimeout(done, ms));

/** Polls until `check` answers something other than null or undefined. */
export async function until<T>(
  check: () => Promise<T | null | undefined>,
  withinMs = 30_000,
  what = "it",
): Promise<T> {
  for (const end = Date.now() + withinMs; ;) {
    const value = await check();
    if (value !== null && value !== undefined) return value;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${withinMs} ms`);
    await sleep(50);
  }
}

async function viewRun(pool: pg.Pool, dagId: string, runId: string): Promise<RunView> {
  const { rows } = await pool.query(
    "select run, state, reason from app.dag_run where dag_id = $1 and run_id = $2",
    [dagId, runId],
  );
  if (rows.length === 0) throw new Error(`no run ${runId} of ${dagId}`);
  const { run, state, reason } = rows[0];
  const cells = await pool.query("select task_id, state from app.cell where run = $1", [run]);
  const tries = await pool.query("select * from app.task_try where run = $1 order by task_id, try", [run]);
  return {
    run,
    state,
    reason,
    cells: Object.fromEntries(cells.rows.map((row) => [row.task_id, row.state])),
    tries: tries.rows,
  };
}
