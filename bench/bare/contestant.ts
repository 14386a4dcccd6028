import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Client } from "@temporalio/client";
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import { type BenchEnv, type Contestant, nowMs, type Sample } from "../contestant.ts";
import { inParallel } from "../../core/in-parallel.ts";
import { workerTuning } from "../tuning.ts";
import type { Workload } from "../workloads.ts";
import { createBareActivities } from "./activities.ts";
import { TaskLog } from "./task-log.ts";
import { chain, empty, fanOut, mapped, roots, tick } from "./workflows.ts";

const TASK_QUEUE = "bench-bare";
const TIMEOUT_MS = 120_000;
/** How many start calls a clock tick keeps open. */
const TICK_CLIENTS = 20;

/** The workloads as plain Temporal workflows: the ceiling for anything that stands on Temporal. */
export class Bare implements Contestant {
  readonly name = "bare";
  private readonly log = new TaskLog();
  private live:
    | { connection: NativeConnection; client: Client; worker: Worker; running: Promise<void> }
    | undefined;

  async setUp(env: BenchEnv): Promise<void> {
    const logger = new DefaultLogger("WARN");
    Runtime.install({ logger, shutdownSignals: [] });
    const workflowsPath = fileURLToPath(new URL("./workflows.ts", import.meta.url));
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
    const connection = await NativeConnection.connect({ address: env.temporalAddress });
    const client = new Client({ connection, namespace: env.namespace });
    const worker = await Worker.create({
      ...workerTuning,
      connection,
      namespace: env.namespace,
      taskQueue: TASK_QUEUE,
      workflowBundle,
      activities: createBareActivities({
        log: this.log,
        startRuns: (ids, tasks) => this.startRuns(ids, tasks, TICK_CLIENTS),
      }),
    });
    this.live = { connection, client, worker, running: worker.run() };
  }

  async run(workload: Workload): Promise<Sample> {
    this.log.take();
    const { t0, end } = await this.perform(workload);
    return { t0, end, tasks: this.log.take() };
  }

  async tearDown(): Promise<void> {
    if (!this.live) return;
    const { worker, running, connection } = this.live;
    worker.shutdown();
    await running;
    await connection.close();
  }

  private perform({ id, shape }: Workload): Promise<{ t0: number; end: number }> {
    const workflowId = `bare-${id}-${randomUUID()}`;
    const ids = (runs: number) => Array.from({ length: runs }, (_, run) => `${workflowId}-${run}`);
    switch (shape.kind) {
      case "empty":
        return this.execute(() => this.start(empty, workflowId, []));
      case "chain":
        return this.execute(() => this.start(chain, workflowId, [shape.tasks, shape.fibo ?? null]));
      case "fan-out":
        return this.execute(() => this.start(fanOut, workflowId, [shape.width]));
      case "mapped":
        return this.execute(() => this.start(mapped, workflowId, [shape.items, shape.inFlight]));
      case "burst":
        return this.burst(ids(shape.runs), shape.tasksPerRun, shape.clients);
      case "clock":
        return this.clock(workflowId, ids(shape.runs), shape.tasksPerRun);
    }
  }

  private async execute(
    start: () => Promise<{ result(): Promise<unknown> }>,
  ): Promise<{ t0: number; end: number }> {
    const t0 = nowMs();
    const handle = await start();
    await handle.result();
    return { t0, end: nowMs() };
  }

  private async burst(ids: readonly string[], tasks: number, clients: number) {
    const t0 = nowMs();
    await this.startRuns(ids, tasks, clients);
    return { t0, end: await this.allClosed(ids, tasks) };
  }

  /** A Schedule with one calendar entry, a few seconds ahead; T0 is that instant. */
  private async clock(scheduleId: string, ids: readonly string[], tasks: number) {
    const due = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 4_000);
    const schedule = await this.client.schedule.create({
      scheduleId,
      spec: { cronExpressions: [cronOf(due)] },
      action: { type: "startWorkflow", workflowType: tick, taskQueue: TASK_QUEUE, args: [ids, tasks] },
    });
    try {
      return { t0: due.getTime(), end: await this.allClosed(ids, tasks) };
    } finally {
      await schedule.delete();
    }
  }

  /** Asks for results only once the tasks are done, so that waiting costs the server nothing meanwhile. */
  private async allClosed(ids: readonly string[], tasks: number): Promise<number> {
    await this.log.reach(ids.length * tasks, TIMEOUT_MS);
    await inParallel(ids, TICK_CLIENTS, (id) => this.client.workflow.getHandle(id).result());
    return nowMs();
  }

  private async startRuns(ids: readonly string[], tasks: number, clients: number): Promise<void> {
    await inParallel(ids, clients, (id) => this.start(roots, id, [tasks]));
  }

  private start<A extends unknown[]>(
    workflow: (...args: A) => Promise<void>,
    workflowId: string,
    args: A,
  ): Promise<{ result(): Promise<unknown> }> {
    return this.client.workflow.start(workflow as (...args: unknown[]) => Promise<void>, {
      args,
      workflowId,
      taskQueue: TASK_QUEUE,
      requestEagerStart: true,
      workflowExecutionTimeout: TIMEOUT_MS,
    });
  }

  private get client(): Client {
    if (!this.live) throw new Error("bench: bare is not set up");
    return this.live.client;
  }
}

function cronOf(due: Date): string {
  const day = `${due.getUTCDate()} ${due.getUTCMonth() + 1} * ${due.getUTCFullYear()}`;
  return `${due.getUTCSeconds()} ${due.getUTCMinutes()} ${due.getUTCHours()} ${day}`;
}
