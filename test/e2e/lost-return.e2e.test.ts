import { afterAll, beforeAll, expect, test } from "vitest";
import { setPool } from "../../db/pools/change.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct();
});
afterAll(async () => await product.stop());

const trigger = async (dagId: string): Promise<string> =>
  (await product.client.trigger({ dagId, logicalAt: null, conf: {}, who: "t" })).runId;

test("B11: a slot's return that a crash of PostgreSQL lost is made up for: who waits for it goes on; C4: the worker writes the series of pools", async () => {
  await setPool(product.pool, { name: "one", slots: 1, description: null, floor: null, who: "t" });
  await product.save(
    "lost-return.ts",
    `export const holder = dag("return_lost", { schedule: null }, () => {
       const quick = task("quick", { pool: "one" }, () => 1);
       const slow = task("slow", async () => await new Promise((done) => setTimeout(() => done(1), 20_000)));
       task("last", { inputs: { quick, slow } }, () => 2);
     });
     export const waiter = dag("return_awaited", { schedule: null }, () => {
       task("next", { pool: "one" }, () => 1);
     });`,
  );
  const holder = await trigger("return_lost");
  const { run } = await until(async () => {
    const view = await product.run("return_lost", holder);
    return view.cells["quick"] === "success" ? view : null;
  });
  // The commit of a try's end need not reach the disk; after a crash all of it is as before.
  await product.pool.query(
    "update app.task_try set state = 'running', ended_at = null where run = $1 and task_id = 'quick'",
    [run],
  );
  await product.pool.query(
    "update app.cell set state = 'running', phase = 1, ended_at = null where run = $1 and task_id = 'quick'",
    [run],
  );
  await product.pool.query(
    `insert into app.lease (run, task_id, try, account, slots, granted_at, told_at, known)
     values ($1, 'quick', 1, 'pool:one', 1, app.now(), app.now(), true)`,
    [run],
  );
  const waiter = await trigger("return_awaited");
  expect((await product.ended("return_awaited", waiter, 15_000)).state).toBe("success");
  // Long before the end of the run that held it.
  const view = await product.run("return_lost", holder);
  expect(view).toMatchObject({ state: "running", cells: { quick: "success" } });
  expect(view.tries.find(({ task_id }) => task_id === "quick")).toMatchObject({
    try: 1,
    state: "success",
    output: 1,
  });
  expect((await product.ended("return_lost", holder)).state).toBe("success");
  const series = await product.pool.query<{ used: number }>(
    "select used from app.pool_sample where account = 'pool:default_pool'",
  );
  expect(series.rows).toContainEqual({ used: 1 });
});
