import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "@temporalio/client";
import type pg from "pg";
import { startApiPart, startWorkerPart } from "../../cli/parts.ts";
import { setUpTemporal } from "../../cli/setup.ts";
import { runIdOf, workflowIdOf } from "../../core/ids.ts";
import { migrate } from "../../db/migrate.ts";
import { readConfig } from "../../platform/config.ts";
import { freePort } from "../../platform/embedded/ports.ts";
import { Life } from "../../platform/life.ts";
import { createLog } from "../../platform/log.ts";
import { createLocalLogStore } from "../../platform/logs/local.ts";
import { createPool } from "../../platform/pg.ts";
import { connectClient } from "../../platform/temporal.ts";
import { createProcessor } from "../../processor/processor.ts";
import { nowMs, type BenchEnv, type Contestant, type Sample, type TaskTime } from "../contestant.ts";
import { inParallel } from "../../core/in-parallel.ts";
import type { Shape, Workload } from "../workloads.ts";
import { dagFiles, type DagFile } from "./dag-files.ts";
import { post } from "./post.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RESULT_CLIENTS = 20;
const PAUSE_CLIENTS = 20;
/** The DAGs of a clock wake so long before their minute: time for the run of a minute missed while they were paused. */
const CLOCK_LEAD_MS = 40_000;
const WAIT_MS = 180_000;

interface Live {
  readonly life: Life;
  readonly pool: pg.Pool;
  readonly temporal: Client;
  readonly folder: string;
  readonly url: string;
  readonly pass: () => Promise<unknown>;
}

interface RunName {
  readonly dagId: string;
  readonly runId: string;
}

/** Meridian in embedded mode: processor, worker and API in this process, each run triggered by one POST. */
export class Ours implements Contestant {
  readonly name = "ours";
  #live: Live | undefined;
  /** Ids of workloads whose DAGs are stored. */
  readonly #known = new Set<string>();

  async setUp(env: BenchEnv): Promise<void> {
    const home = join(ROOT, `.meridian/bench-${process.pid}`);
    const folder = join(home, "dags");
    mkdirSync(folder, { recursive: true });
    const config = readConfig({
      MERIDIAN_HOME: home,
      DATABASE_URL: env.databaseUrl,
      TEMPORAL_ADDRESS: env.temporalAddress,
      TEMPORAL_NAMESPACE: env.namespace,
      MERIDIAN_TASK_QUEUE: "bench-ours",
      MERIDIAN_PORT: String(await freePort()),
    });
    const log = createLog("warn", "bench");
    const life = new Life(log);
    life.onEnd("folder", () => rmSync(home, { recursive: true, force: true }));
    const pool = createPool(
      { url: env.databaseUrl, max: config.databaseConnections, applicationName: "bench" },
      () => {},
    );
    life.onEnd("pool", async () => await pool.end());
    await migrate(pool);
    await pool.query("insert into app.account (key, slots) values ('pool:bench', 32) on conflict do nothing");
    await pool.query("update app.account set slots = 100000 where key = 'pool:default_pool'");
    const setUp = await connectClient(config, env.temporalAddress);
    await setUpTemporal(setUp, config);
    await setUp.connection.close();
    const logs = createLocalLogStore({ folder: join(home, "logs") });
    const shared = { config, pool, logs, log, life };
    const worker = await startWorkerPart(shared);
    const createDue = async (dagIds: readonly string[]) => await worker.createDue(dagIds);
    const api = await startApiPart(shared, worker.starter, createDue, { temporalUi: null });
    // Not the processor part of `meridian start`: files are looked at when told, not when they change.
    const processor = createProcessor({ pool, folder, home, log, onStored: createDue });
    life.onEnd("processor", async () => await processor.stop());
    this.#live = {
      life,
      pool,
      temporal: worker.temporal,
      folder,
      url: `${api.url}/api/v1`,
      pass: async () => await processor.pass(),
    };
  }

  async run(workload: Workload): Promise<Sample> {
    return workload.shape.kind === "clock" ? await this.#clock(workload) : await this.#triggered(workload);
  }

  async tearDown(): Promise<void> {
    await this.#live?.life.end();
  }

  async #triggered({ id, shape }: Workload): Promise<Sample> {
    const live = this.#one();
    const { files } = await this.#stored(id, shape);
    const clients = shape.kind === "burst" ? shape.clients : 1;
    const runs: RunName[] = [];
    const t0 = nowMs();
    await inParallel(files, clients, async (file) => {
      const run = (await post(`${live.url}/dags/${file.id}/runs`, {})) as { runId: string };
      runs.push({ dagId: file.id, runId: run.runId });
    });
    if (shape.kind === "burst") await this.#all(runs);
    return await this.#sample(t0, runs);
  }

  /**
   * Nothing is triggered: the clock Schedule ticks on the minute; T0 is that minute. The DAGs are due each minute, and
   * paused while they must not run.
   */
  async #clock({ id, shape }: Workload): Promise<Sample> {
    const { files, isNew } = await this.#stored(id, shape);
    const ids = files.map((file) => file.id);
    const dueAt = Math.ceil((Date.now() + CLOCK_LEAD_MS) / 60_000) * 60_000;
    await sleep(dueAt - CLOCK_LEAD_MS - Date.now());
    if (!isNew) await this.#each(ids, "unpause");
    await this.#quiet(ids);
    if (Date.now() >= dueAt) throw new Error("bench: the DAGs were not ready for their minute");
    await sleep(dueAt - Date.now());
    const runId = runIdOf(dueAt - 60_000);
    const runs = ids.map((dagId) => ({ dagId, runId }));
    await this.#all(runs);
    const sample = await this.#sample(dueAt, runs);
    await this.#each(ids, "pause");
    return sample;
  }

  async #each(dagIds: readonly string[], verb: "pause" | "unpause"): Promise<void> {
    const { url } = this.#one();
    await inParallel(dagIds, PAUSE_CLIENTS, async (dagId) => {
      await post(`${url}/dags/${dagId}/${verb}`, {});
    });
  }

  /** Until none of these DAGs has a run under way. */
  async #quiet(dagIds: readonly string[]): Promise<void> {
    const { pool } = this.#one();
    for (const until = Date.now() + WAIT_MS; Date.now() < until; await sleep(500)) {
      const { rows } = await pool.query<{ open: number }>(
        "select count(*) as open from app.dag_run where dag_id = any($1) and state in ('queued', 'running')",
        [dagIds],
      );
      if (rows[0]!.open === 0) return;
    }
    throw new Error("bench: earlier runs did not end in time");
  }

  /** Asks Temporal for nothing until all have ended, as the bare contestant: waiting there costs the server. */
  async #all(runs: readonly RunName[]): Promise<void> {
    for (const until = Date.now() + WAIT_MS; Date.now() < until;) {
      const { rows } = await this.#one().pool.query<{ done: number }>(
        `select count(*) as done from app.dag_run
         where (dag_id, run_id) in (select * from unnest($1::text[], $2::text[])) and ended_at is not null`,
        [runs.map((run) => run.dagId), runs.map((run) => run.runId)],
      );
      if (rows[0]!.done === runs.length) return;
      await sleep(100);
    }
    throw new Error("bench: the runs did not end in time");
  }

  /** Done when every run's workflow has closed; the times of tasks are the system's own records. */
  async #sample(t0: number, runs: readonly RunName[]): Promise<Sample> {
    const { temporal, pool } = this.#one();
    await inParallel(runs, RESULT_CLIENTS, async ({ dagId, runId }) => {
      await temporal.workflow.getHandle(workflowIdOf(dagId, runId)).result();
    });
    const end = nowMs();
    // A try that Temporal lost on its way to a worker began nowhere; the one after it counts, and the time it cost.
    const { rows } = await pool.query<{ run: number; started_at: Date; ended_at: Date }>(
      `select t.run, t.started_at, t.ended_at from app.task_try t join app.dag_run d on d.run = t.run
       where (d.dag_id, d.run_id) in (select * from unnest($1::text[], $2::text[])) and t.started_at is not null`,
      [runs.map((run) => run.dagId), runs.map((run) => run.runId)],
    );
    const tasks: TaskTime[] = rows.map((row) => ({
      run: String(row.run),
      startedAt: row.started_at.getTime(),
      endedAt: row.ended_at.getTime(),
    }));
    return { t0, end, tasks };
  }

  /** The DAGs of a workload; stored by its first repetition. */
  async #stored(id: string, shape: Shape): Promise<{ files: readonly DagFile[]; isNew: boolean }> {
    const live = this.#one();
    const files = dagFiles(id.toLowerCase(), shape);
    const isNew = !this.#known.has(id);
    if (isNew) {
      for (const file of files) writeFileSync(join(live.folder, `${file.id}.ts`), file.text);
      await live.pass();
      this.#known.add(id);
    }
    return { files, isNew };
  }

  #one(): Live {
    if (this.#live === undefined) throw new Error("bench: ours is not set up");
    return this.#live;
  }
}
