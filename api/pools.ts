import { createRoute } from "@hono/zod-openapi";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { DEFAULT_POOL, poolAccount } from "../core/ids.ts";
import { admissionPass } from "../db/pools/pass.ts";
import { deletePool, setPool } from "../db/pools/change.ts";
import { readPoolHistory } from "../db/read/pool-history.ts";
import { readImpossible, readPools, readWork, type PoolRow, type WorkRow } from "../db/read/pools.ts";
import { CLASS_NAMES } from "../core/limits.ts";
import { Pool, PoolHistory, PoolList, type ImpossibleRequest } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { HistoryQuery, newRoutes, PoolBody, PoolPath } from "./requests.ts";
import { iso, json, poolOf } from "./shape.ts";

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

const showHistory = createRoute({
  method: "get",
  path: "/pools/{name}/history",
  summary: "How full a pool was, how long it made wait, and what came and was granted, over time",
  request: { params: PoolPath, query: HistoryQuery },
  responses: { 200: json(PoolHistory, "Its series") },
});

/** Beyond this only samples of full minutes are kept. */
const FINE_MINUTES = 120;

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
      const { name } = c.req.valid("param");
      const account = poolAccount(name);
      const { slots, description = null, scheduledFloor: floor = null } = c.req.valid("json");
      const change = { name, slots, description, floor, who: c.get("who") };
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
      if (!(await deletePool(deps.db, name, c.get("who")))) throw await whyNotDeleted(deps, name);
      return c.body(null, 204);
    })
    .openapi(showHistory, async (c) => {
      const { name } = c.req.valid("param");
      const { minutes } = c.req.valid("query");
      const db = deps.reader ?? deps.db;
      const account = poolAccount(name);
      const found = await readPoolHistory(db, account, minutes, minutes > FINE_MINUTES);
      if (found.samples.length + found.minutes.length === 0 && (await readPools(db, account)).length === 0)
        throw new NotFound("no_pool", `there is no pool "${name}"`);
      const samples = found.samples.map(({ at, longest_ms, p95_ms, ...row }) => ({
        at: iso(at),
        ...row,
        longestWaitMs: longest_ms,
        p95WaitMs: p95_ms,
      }));
      const told = found.minutes.map(({ at, ...row }) => ({ at: iso(at), ...row }));
      return c.json({ name, samples, minutes: told }, 200);
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

const sumOf = (rates: readonly number[]): number =>
  Math.round(rates.reduce((sum, one) => sum + one, 0) * 100) / 100;

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
  const classes = row.classes.map((one) => ({
    class: CLASS_NAMES[one.class],
    used: one.used,
    waiting: one.waiting,
    arrivalsPerMinute: one.arrivals,
    grantsPerMinute: one.grants,
  }));
  return {
    name,
    exists: row.slots !== null,
    description: row.description ?? "",
    slots,
    used: row.used,
    free: Math.max(0, slots - row.used),
    waiting: row.waiting,
    waitingSlots: row.waiting_slots,
    longestWaitMs: row.longest_ms,
    p95WaitMs: row.p95_ms,
    arrivalsPerMinute: sumOf(classes.map((one) => one.arrivalsPerMinute)),
    grantsPerMinute: sumOf(classes.map((one) => one.grantsPerMinute)),
    classes,
    scheduledFloor: row.floor,
    preempted: row.preempted,
    impossible: impossible
      .filter((work) => work.account === row.account)
      .map((work): ImpossibleRequest => {
        const { slots: needs, granted: _granted, ...where } = shapeWork(work);
        return { ...where, needs, reason: explain(needs) };
      }),
  };
}
