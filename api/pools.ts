import { createRoute } from "@hono/zod-openapi";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { DEFAULT_POOL, poolAccount } from "../core/ids.ts";
import { admissionPass } from "../db/pools/pass.ts";
import { deletePool, setPool } from "../db/pools/change.ts";
import { readImpossible, readPools, readWork, type PoolRow, type WorkRow } from "../db/read/pools.ts";
import { Pool, PoolList, type ImpossibleRequest } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes, PoolBody, PoolPath } from "./requests.ts";
import { json, poolOf } from "./shape.ts";

const IMPOSSIBLE = 20;
/** How much of a pool's work an error names. */
const NAMED = 10;

const listPools = createRoute({
  method: "get",
  path: "/pools",
  summary: "Pools with their use, and requests that can never be granted",
  responses: { 200: json(PoolList, "All pools") },
});
const changePool = createRoute({
  method: "post",
  path: "/pools/{name}",
  summary: "Make or resize a pool",
  request: {
    params: PoolPath,
    body: { required: true, content: { "application/json": { schema: PoolBody } } },
  },
  responses: { 200: json(Pool, "It is resized"), 201: json(Pool, "It is made") },
});
const removePool = createRoute({
  method: "delete",
  path: "/pools/{name}",
  summary: "Delete a pool that has no work",
  request: { params: PoolPath },
  responses: { 204: { description: "It is gone" } },
});

export const poolRoutes = (deps: AppDeps) =>
  newRoutes()
    .openapi(listPools, async (c) => {
      const db = deps.reader ?? deps.db;
      const [pools, impossible] = await Promise.all([
        readPools(db, null),
        readImpossible(db, null, IMPOSSIBLE),
      ]);
      return c.json({ pools: pools.map((row) => shapePool(row, impossible)) }, 200);
    })
    .openapi(changePool, async (c) => {
      const account = poolAccount(c.req.valid("param").name);
      const { slots, description } = c.req.valid("json");
      const change = { account, slots, description: description ?? null, who: c.get("who") };
      const { created } = await setPool(deps.db, change);
      // What fits now begins now, and what never can says so in the new numbers (K45).
      await admissionPass(deps.db);
      const [rows, impossible] = await Promise.all([
        readPools(deps.db, account),
        readImpossible(deps.db, account, IMPOSSIBLE),
      ]);
      return c.json(shapePool(rows[0]!, impossible), created ? 201 : 200);
    })
    .openapi(removePool, async (c) => {
      const { name } = c.req.valid("param");
      if (name === DEFAULT_POOL) {
        const text = `pool "${name}" cannot be deleted: tasks that name no pool use it; set its slots instead`;
        throw new Refused("default_pool", text);
      }
      if (!(await deletePool(deps.db, poolAccount(name), c.get("who"))))
        throw await whyNotDeleted(deps, name);
      return c.body(null, 204);
    });

async function whyNotDeleted(deps: AppDeps, name: string): Promise<Error> {
  const work = await readWork(deps.db, poolAccount(name), NAMED);
  const [pool] = await readPools(deps.db, poolAccount(name));
  if (pool === undefined || pool.slots === null) return new NotFound("no_pool", `there is no pool "${name}"`);
  const names = work.map(
    (w) => `${w.dag_id} ${w.run_id} ${w.task_id}${w.map_index < 0 ? "" : `[${w.map_index}]`}`,
  );
  const text = `pool "${name}" has work: ${pool.used} slots in use, ${pool.waiting} requests waiting (${names.join(", ")}); wait for it to end, or move its tasks to another pool`;
  return new Conflict("pool_in_use", text, {
    details: { used: pool.used, waiting: pool.waiting, work: work.map(shapeWork) },
  });
}

const shapeWork = (row: WorkRow) => ({
  dagId: row.dag_id,
  runId: row.run_id,
  taskId: row.task_id,
  mapIndex: row.map_index,
  slots: row.slots,
  granted: row.granted,
});

function shapePool(row: PoolRow, impossible: readonly WorkRow[]): Pool {
  const name = poolOf(row.account)!;
  const slots = row.slots ?? 0;
  const explain = (needs: number): string =>
    row.slots === null
      ? `can never run: pool "${name}" does not exist`
      : `can never run: needs ${needs}, pool "${name}" has ${slots}`;
  return {
    name,
    exists: row.slots !== null,
    description: row.description ?? "",
    slots,
    used: row.used,
    free: Math.max(0, slots - row.used),
    waiting: row.waiting,
    waitingSlots: row.waiting_slots,
    impossible: impossible
      .filter((work) => work.account === row.account)
      .map((work): ImpossibleRequest => {
        const { slots: needs, granted: _granted, ...where } = shapeWork(work);
        return { ...where, needs, reason: explain(needs) };
      }),
  };
}
