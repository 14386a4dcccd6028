/**
 * B3, big runs: `npm run bench:big [-- --smoke]`. 20,000 quick instances beside 500 and beside batches of 25, the replay of a run
 * of 5,000 tasks, and the memory of 3,000 waiting runs, over Temporal on PostgreSQL where it is built. Linux only; it ends by
 * itself, and removes what it made.
 */
import { aloneBench } from "./alone.ts";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "@temporalio/worker";
import { createLog } from "../platform/log.ts";
import { workflowBundle } from "../worker/bundle.ts";
import { installRuntime } from "../worker/runtime.ts";
import { memoryOf } from "./memory.ts";
import { isBuilt } from "./server/paths.ts";
import { median } from "./statistics.ts";
import { startWhole, trigger, until, type Whole } from "./whole.ts";

const isSmoke = process.argv.includes("--smoke");
const FEW = isSmoke ? 20 : 500;
const MANY = isSmoke ? 100 : 20_000;
const TASKS = isSmoke ? 50 : 5_000;
const WAITING_RUNS = isSmoke ? 50 : 3_000;
const AT_ONCE = 20;

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const HOME = join(ROOT, `.meridian/bench-big-${process.pid}`);

/** Id of the run made last. */
let last = "";
const { undo, report, run } = aloneBench("bigRuns", HOME, isSmoke);

const DAGS = `import { dag, task, waitFor } from "meridian";

const numbers = (n) => Array.from({ length: n }, (_, i) => i);
for (const [id, n, batch] of [["few", ${FEW}], ["many", ${MANY}], ["batched", ${MANY}, 25]])
  dag(id, { schedule: null }, () => {
    const items = task("items", () => numbers(n));
    task("each", { expand: { item: items }, maxMapped: n, ...(batch ? { batch } : {}) }, () => null);
  });
dag("tasks", { schedule: null }, () => {
  for (let i = 0; i < ${TASKS}; i++) task("t" + i, () => null);
});
dag("waiting", { schedule: null, maxActiveRuns: 100000 }, () => {
  waitFor("answer");
});
`;

await run(measure);

async function measure(): Promise<void> {
  const whole = await startWhole(undo, {
    home: HOME,
    server: isBuilt() ? "postgres" : "dev",
    dags: { "big.ts": DAGS },
    count: 5,
  });
  await seconds(whole, "few");
  const few = median([await seconds(whole, "few"), await seconds(whole, "few"), await seconds(whole, "few")]);
  report(`${FEW} instances`, FEW / few, "/s");
  const batched = await seconds(whole, "batched");
  const many = await seconds(whole, "many");
  report(`${MANY} instances`, MANY / many, "/s");
  report(`${MANY} instances, their rate by that of ${FEW}`, MANY / many / (FEW / few), "×");
  report(`${MANY} items in batches of 25: so much sooner done`, many / batched, "×");

  const tasks = await seconds(whole, "tasks");
  report(`${TASKS} tasks in one dag`, TASKS / tasks, "/s");
  report(`${TASKS} tasks in one dag: replay of all its executions`, await replaySeconds(whole, "tasks"), "s");

  const rest = () => memoryOf([whole.pid]).pssMiB;
  const before = rest();
  let made = 0;
  for (const goal of [Math.floor(WAITING_RUNS / 6), WAITING_RUNS]) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (made < goal) {
          made += 1;
          await trigger(whole.url, "waiting");
        }
      }),
    );
    await until(undo, async () => (await waiting(whole)) >= goal);
    await sleep(isSmoke ? 500 : 10_000);
    report(`memory of our processes with ${goal} waiting runs, beyond that at rest`, rest() - before, "MiB");
  }
}

async function waiting({ pool }: Whole): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    "select count(*)::integer as n from app.cell where task_id = 'answer' and state = 'deferred'",
  );
  return rows[0]!.n;
}

async function seconds({ url, pool }: Whole, dagId: string): Promise<number> {
  const began = performance.now();
  const { runId } = await trigger(url, dagId);
  await until(undo, async () => {
    const { rows } = await pool.query<{ state: string }>(
      "select state from app.dag_run where dag_id = $1 and run_id = $2",
      [dagId, runId],
    );
    if (rows[0]?.state === "failed") throw new Error(`bench: ${dagId} failed`);
    return rows[0]?.state === "success";
  });
  last = runId;
  return (performance.now() - began) / 1_000;
}

async function replaySeconds({ temporal }: Whole, dagId: string): Promise<number> {
  installRuntime(createLog("error", "bench"));
  const codePath = await workflowBundle(() => {});
  const workflowId = `run.${dagId}.${last}`;
  let all = 0;
  let execution = (await temporal.workflow.getHandle(workflowId).describe()).runId;
  while (execution !== "") {
    const history = await temporal.workflow.getHandle(workflowId, execution).fetchHistory();
    const from = performance.now();
    await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowId);
    all += performance.now() - from;
    execution = history.events![0]!.workflowExecutionStartedEventAttributes!.continuedExecutionRunId ?? "";
  }
  return all / 1_000;
}
