import { afterAll, beforeAll, expect, test } from "vitest";
import { readRun, readWaiting } from "../../db/read/runs.ts";
import { parseRunId } from "../../core/ids.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_MAX_TRIES: "1" } });
});
afterAll(async () => await product.stop());

async function reasonOf(dagId: string, runId: string, taskId: string): Promise<string | null> {
  const row = await readRun(product.pool, dagId, { runId, ...parseRunId(runId)! });
  const waiting = await readWaiting(product.pool, row!.run, 100);
  return waiting.find((one) => one.task_id === taskId)?.reason ?? null;
}

test("F16: a task whose queue no worker serves says so within 15 s, and runs once a worker serves it", async () => {
  await product.save(
    "queue-nobody.ts",
    `export const q = dag("queue_nobody", { schedule: null }, () => {
       task("train", { queue: "gpu" }, () => "trained");
     });`,
  );
  const { runId } = await product.client.trigger({
    dagId: "queue_nobody",
    logicalAt: null,
    conf: {},
    who: "t",
  });
  const reason = await until(
    async () => await reasonOf("queue_nobody", runId, "train"),
    15_000,
    "the reason",
  );
  expect(reason).toMatch(/^no worker serves queue "gpu"; start one with MERIDIAN_QUEUES=gpu/);

  const gpu = await startProduct({ beside: product, env: { MERIDIAN_QUEUES: "gpu" } });
  try {
    expect((await product.ended("queue_nobody", runId)).state).toBe("success");
    expect(await reasonOf("queue_nobody", runId, "train")).toBeNull();
  } finally {
    await gpu.stop();
  }
  const { rows } = await product.pool.query("select distinct queue from app.worker");
  expect(rows).toEqual([{ queue: "default" }]);
});

test("B9: a try that no worker has taken up is cleared and marked at once", async () => {
  await product.save(
    "queue-mark.ts",
    `export const q = dag("queue_mark", { schedule: null }, () => {
       const train = task("train", { queue: "nobody" }, () => "trained");
       task("after", { after: [train] }, () => 1);
     });`,
  );
  const { runId } = await product.client.trigger({
    dagId: "queue_mark",
    logicalAt: null,
    conf: {},
    who: "t",
  });
  const workflow = product.temporal.workflow.getHandle(`run.queue_mark.${runId}`);
  const pending = async (id: string): Promise<true | null> =>
    (await workflow.describe()).raw.pendingActivities?.some((one) => one.activityId === id) === true
      ? true
      : null;
  await until(async () => await pending("train.1"), 15_000, "the first try");
  const selection = { tasks: [{ taskId: "train" }] };
  const command = async (asked: object): Promise<void> =>
    void (await product.client.command({
      dagId: "queue_mark",
      runId,
      who: "t",
      command: { id: JSON.stringify(asked), selection, ...asked } as never,
    }));
  await command({ kind: "clear" });
  await until(async () => await pending("train.2"), 5_000, "the second try");
  await command({ kind: "mark", as: "success" });
  const run = await product.ended("queue_mark", runId, 10_000);
  expect([run.state, run.cells]).toEqual(["success", { train: "success", after: "success" }]);
});

test("F16: a try that waits since all workers of its queue are busy says so", async () => {
  await product.save(
    "queue-busy.ts",
    `export const q = dag("queue_busy", { schedule: null }, () => {
       task("a", async () => await new Promise((done) => setTimeout(done, 14_000)));
       task("b", async () => await new Promise((done) => setTimeout(done, 14_000)));
     });`,
  );
  const { runId } = await product.client.trigger({
    dagId: "queue_busy",
    logicalAt: null,
    conf: {},
    who: "t",
  });
  const reason = await until(
    async () => (await reasonOf("queue_busy", runId, "a")) ?? (await reasonOf("queue_busy", runId, "b")),
    13_000,
    "the reason",
  );
  expect(reason).toMatch(/^the only worker of queue "default" is busy: 1 of 1 tries/);
  expect((await product.ended("queue_busy", runId, 40_000)).state).toBe("success");
});
