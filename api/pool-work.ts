import { createRoute } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { poolAccount } from "../core/ids.ts";
import { readPoolWork, type PoolWorkRow } from "../db/read/pool-work.ts";
import { readPools } from "../db/read/pools.ts";
import { PoolWork, type PoolWorkItem } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes, PoolPath } from "./requests.ts";
import { iso, json } from "./shape.ts";

/** What a person reads at once; a longer queue is a number. */
const SHOWN = 50;

const getWork = createRoute({
  method: "get",
  path: "/pools/{name}/work",
  summary: "Who holds slots of a pool, and who waits for them and why",
  request: { params: PoolPath },
  responses: { 200: json(PoolWork, "The work") },
});

export const poolWorkRoutes = (deps: AppDeps) =>
  newRoutes().openapi(getWork, async (c) => {
    const { name } = c.req.valid("param");
    const db = deps.reader ?? deps.db;
    const rows = await readPoolWork(db, poolAccount(name), SHOWN);
    if (rows.length === 0 && (await readPools(db, poolAccount(name))).length === 0)
      throw new NotFound("no_pool", `there is no pool "${name}"`);
    const holding = rows.filter((row) => row.granted).map(shapeItem);
    return c.json({ holding, waiting: rows.filter((row) => !row.granted).map(shapeItem) }, 200);
  });

const shapeItem = (row: PoolWorkRow): PoolWorkItem => ({
  dagId: row.dag_id,
  runId: row.run_id,
  taskId: row.task_id,
  mapIndex: row.map_index,
  try: row.try,
  slots: row.slots,
  priority: row.priority,
  since: iso(row.since),
  reason: row.granted && !row.not_begun ? null : row.reason,
});
