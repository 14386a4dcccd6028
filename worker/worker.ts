import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { heartbeat } from "@temporalio/activity";
import { Client } from "@temporalio/client";
import { Worker, type NativeConnection } from "@temporalio/worker";
import type pg from "pg";
import { Confs } from "../activities/confs.ts";
import { Stops } from "../activities/stops.ts";
import { Pokes } from "../activities/pokes.ts";
import { LargeValues } from "../activities/large-values.ts";
import { createRunActivities } from "../activities/run-activities.ts";
import { createTaskActivities } from "../activities/run-task.ts";
import { createRunner } from "../activities/runner/runner.ts";
import { TryRecords } from "../activities/try-records.ts";
import type { ClockActivities } from "../activities/types.ts";
import { RunStarter } from "../client/starter.ts";
import { tellGrants } from "../client/teller.ts";
import { tellWaits } from "../client/waker.ts";
import { taskQueueOf } from "../core/ids.ts";
import { ensurePartitions } from "../db/partitions.ts";
import { admissionPass, quickPass } from "../db/pools/pass.ts";
import { samplePools } from "../db/pools/sample.ts";
import { rollSpent } from "../db/pools/spent.ts";
import { nextUntoldInMs } from "../db/pools/outbox.ts";
import { lookAtWaits, waitSecret } from "../db/waits.ts";
import type { Config } from "../platform/config.ts";
import { Loop, type Life } from "../platform/life.ts";
import type { Log } from "../platform/log.ts";
import type { LogStore } from "../platform/logs/store.ts";
import type { ObjectStore } from "../platform/objects/store.ts";
import { WaitAddresses } from "../platform/wait-address.ts";
import { createDueRuns } from "../schedules/create-runs.ts";
import { sendAlerts } from "./alerts.ts";
import { workflowBundle } from "./bundle.ts";
import { startPresence } from "./presence.ts";
import { createQueueWatch } from "./queued-runs.ts";
import { createReconciler } from "./reconciler.ts";
import { workerTuning } from "./tuning.ts";

export interface WorkerDeps {
  readonly config: Config;
  readonly pool: pg.Pool;
  readonly connection: NativeConnection;
  readonly logs: LogStore;
  readonly objects: ObjectStore;
  readonly log: Log;
  readonly clock: () => number;
}

export interface StartedWorker {
  /** Over the worker's own connection: runs may start eagerly. */
  readonly temporal: Client;
  readonly starter: RunStarter;
  /** Of waits that are ended from outside. */
  readonly addresses: WaitAddresses;
  /** Creates at once what is due, all DAGs or the ones named. */
  createDue(dagIds?: readonly string[]): Promise<number>;
}

/** Allocator and outbox come by this often even when nothing pokes them. */
const ADMISSION_MS = 1_000;
/** So late at the most a wait ends, or a sensor is checked. */
const WAITS_MS = 500;
const WAITS_AT_ONCE = 1_000;
const ALERTS_MS = 1_000;
/** As fine as the series of pools is (`app.sample_pools`). */
const SAMPLE_MS = 10_000;
/** So late at the most a tenant's quota is seen to be used up. */
const SPENT_MS = 5_000;
/** So late at the most a run that waits for its place has waited too long. */
const QUEUED_MS = 5_000;
/** Where a worker that was told nothing takes the API to be. */
const USUAL_API_URL = "http://127.0.0.1:8080";

/** Starts pollers for each queue profile, the runner threads and the loops; all end with `life`, draining first. */
export async function startWorker(deps: WorkerDeps, life: Life): Promise<StartedWorker> {
  const { config, pool, connection, log } = deps;
  const workerId = `${hostname()}:${process.pid}`;
  const temporal = new Client({ connection, namespace: config.temporalNamespace });
  const onError = (error: Error, what: string): void => log.warn({ err: error }, what);
  const starter = new RunStarter({
    pool,
    temporal,
    taskQueue: config.taskQueue,
    lostAfterMs: config.lostAfterMs,
    turnOverEvents: config.turnOverEvents,
    eager: config.queues.includes("default"),
    onError,
  });
  const { versions } = starter;
  const telling = {
    pool,
    temporal,
    starter,
    onError: (error: Error) =>
      log.warn({ err: error }, "telling a run of its grants failed; it will be tried again"),
  };
  let lastPassAt = 0;
  const admission = new Loop("admission", ADMISSION_MS, log, async () => {
    const quick = await quickPass(pool);
    let { granted } = quick;
    // The reasons of those who wait are made anew by a pass alone.
    if (quick.rest || performance.now() - lastPassAt > ADMISSION_MS) {
      lastPassAt = performance.now();
      granted += await admissionPass(pool);
    }
    await tellGrants(telling);
    if (granted === 0) return;
    const inMs = await nextUntoldInMs(pool);
    if (inMs !== null && inMs < ADMISSION_MS) setTimeout(() => admission.poke(), Math.max(5, inMs));
  });
  const wantPass = (): void => admission.poke();
  const waking = new Loop("waits", WAITS_MS, log, async () => {
    while (await lookAtWaits(pool, WAITS_AT_ONCE));
    await tellWaits({
      pool,
      temporal,
      onError: (error) =>
        log.warn({ err: error }, "telling a run of its waits failed; it will be tried again"),
    });
  });
  const wantTelling = (): void => waking.poke();
  const addresses = new WaitAddresses(await waitSecret(pool), config.apiUrl ?? USUAL_API_URL);
  const creating = { pool, starter, clock: deps.clock, onError };
  const records = new TryRecords(pool, wantPass, (error) =>
    log.warn({ err: error }, "writing tries failed; they are kept and tried again"),
  );
  const spoolFolder = join(resolve(config.home), "spool");
  const values = new LargeValues(deps.objects, spoolFolder);
  await values.sweep();
  const runner = createRunner({
    threads: config.threads,
    codeFolder: join(resolve(config.home), "code"),
    spoolFolder,
    connections: config.connections,
    blockedAfterMs: config.blockedAfterMs,
    log: (line) => log[line.level](line.text),
  });
  const clockActivities: ClockActivities = {
    createRuns: async (shard, shards) =>
      await createDueRuns({ ...creating, onPage: (created) => heartbeat(created) }, shard, shards),
  };
  const confs = new Confs(pool);
  const tasks = {
    pool,
    versions,
    confs,
    records,
    runner,
    logs: deps.logs,
    values,
    stops: new Stops(pool, (error) => log.warn({ err: error }, "tries to be stopped could not be read")),
    workerId,
    addresses,
    wantTelling,
  };
  const opening = {
    taskQueue: config.taskQueue,
    lostAfterMs: config.lostAfterMs,
    turnOverEvents: config.turnOverEvents,
  };
  const activities = {
    ...createRunActivities({ pool, versions, confs, ...opening, wantPass, wantTelling }),
    ...createTaskActivities(tasks),
    ...clockActivities,
  };
  const pokes = new Pokes({
    ...tasks,
    ...opening,
    queues: config.queues,
    wantMore: () => poking.poke(),
    onError: (error) => log.warn({ err: error }, "a check of a sensor failed; it will be made again"),
  });
  const alerting = new Loop(
    "alerts",
    ALERTS_MS,
    log,
    async () => await sendAlerts({ pool, log, url: config.alertUrl }),
  );
  const sampling = new Loop("pool samples", SAMPLE_MS, log, async () => void (await samplePools(pool)));
  const spending = new Loop("core-hours", SPENT_MS, log, async () => await rollSpent(pool));
  const poking = new Loop("sensors", WAITS_MS, log, async () => await pokes.look());
  const reconcile = createReconciler({ pool, temporal, log, quietMs: config.reconcileMs });
  const reconciler = new Loop("reconciler", config.reconcileMs, log, async () => void (await reconcile()));
  const partitions = new Loop("partitions", 3_600_000, log, async () => await ensurePartitions(pool));
  const queueWatch = new Loop("queued runs", QUEUED_MS, log, createQueueWatch(pool, versions));
  life.onEnd("worker loops", async () => {
    pokes.end();
    await Promise.all(
      [admission, waking, poking, alerting, sampling, spending, queueWatch, reconciler, partitions].map(
        async (loop) => await loop.end(),
      ),
    );
  });
  const codePath = await workflowBundle((line) => log.warn(line));
  const workers: Worker[] = [];
  for (const queue of config.queues) {
    const worker = await Worker.create({
      connection,
      namespace: config.temporalNamespace,
      taskQueue: taskQueueOf(config.taskQueue, queue),
      activities,
      ...(queue === "default" ? { workflowBundle: { codePath } } : {}),
      ...workerTuning(config),
      // The runner ends what does not end by itself within the drain time; this only stands behind it.
      shutdownGraceTime: config.drainMs + 5_000,
    });
    workers.push(worker);
  }
  const running = workers.map(async (worker) => await worker.run());
  for (const run of running)
    run.catch((error: unknown) => log.error({ err: error }, "a Temporal worker ended"));

  admission.start();
  waking.start();
  poking.start();
  alerting.start();
  sampling.start();
  spending.start();
  reconciler.start();
  partitions.start();
  queueWatch.start();

  life.onEnd("worker", async () => {
    // Pollers stop taking work; bodies get the drain time, then are handed back as `requeued`.
    for (const worker of workers) worker.shutdown();
    await runner.drain(config.drainMs);
    await Promise.allSettled(running);
    await values.close();
  });
  const served = () =>
    workers.map((worker, index) => ({
      queue: config.queues[index]!,
      tries: worker.getStatus().numInFlightActivities,
      max_tries: config.activities,
    }));
  startPresence({ pool, log, workerId, served }, life);
  return {
    temporal,
    starter,
    addresses,
    createDue: async (dagIds) => await createDueRuns(creating, 0, 1, dagIds ?? null),
  };
}
