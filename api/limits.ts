import { createRoute } from "@hono/zod-openapi";
import { Conflict } from "../core/errors.ts";
import { isUnchanged, planLimits, type LimitsPlan as Plan } from "../core/limits-diff.ts";
import { applyLimits, countOf } from "../db/apply-limits.ts";
import { transaction } from "../db/connection.ts";
import { readLimitsNow } from "../db/limits-now.ts";
import { readLimits, type LimitsRow } from "../db/limits.ts";
import { admissionPass } from "../db/pools/pass.ts";
import { Limits, LimitsApplied, LimitsBody, LimitsPlan, LimitsPlanBody } from "./contracts-limits.ts";
import type { AppDeps } from "./deps.ts";
import { parseLimits } from "./limits-text.ts";
import { newRoutes } from "./requests.ts";
import { iso, json } from "./shape.ts";

const getLimits = createRoute({
  method: "get",
  path: "/limits",
  summary: "The limits file in force, who applied it and when",
  responses: { 200: json(Limits, "What is in force") },
});
const planOf = createRoute({
  method: "post",
  path: "/limits/plan",
  summary: "What a limits file would change; changes nothing",
  request: { body: { required: true, content: { "application/json": { schema: LimitsPlanBody } } } },
  responses: { 200: json(LimitsPlan, "What applying it would change") },
});
const putLimits = createRoute({
  method: "put",
  path: "/limits",
  summary: "Put a limits file in force, in one transaction",
  request: { body: { required: true, content: { "application/json": { schema: LimitsBody } } } },
  responses: { 200: json(LimitsApplied, "It is in force") },
});

export const limitsRoutes = (deps: AppDeps) =>
  newRoutes()
    .openapi(getLimits, async (c) => {
      const row = await readLimits(deps.db);
      return c.json(
        { id: row?.id ?? null, at: row && iso(row.at), who: row?.who ?? null, file: row?.spec ?? null },
        200,
      );
    })
    .openapi(planOf, async (c) => {
      const file = parseLimits(c.req.valid("json").text);
      const { row, now } = await transaction(deps.db, async (db) => {
        // One moment for all that is compared.
        await db.query("set transaction isolation level repeatable read, read only");
        return await readLimitsNow(db);
      });
      const plan = planLimits(now, file);
      const changed = !isUnchanged(now, file, plan);
      return c.json({ current: row?.id ?? null, changed, ...shapePlan(plan) }, 200);
    })
    .openapi(putLimits, async (c) => {
      const { text, ifCurrent } = c.req.valid("json");
      const done = await applyLimits(deps.db, { file: parseLimits(text), who: c.get("who"), ifCurrent });
      if (done.kind === "outdated") throw outdated(done.row);
      // What fits now begins now, and the reasons of the rest are in the new numbers.
      if (done.kind === "applied") await admissionPass(deps.db);
      const { row, plan } = done;
      return c.json({ id: row?.id ?? null, changed: done.kind === "applied", ...shapePlan(plan) }, 200);
    });

const shapePlan = ({ changes, dags, runs }: Plan) => ({
  changes: changes.map((change) => ({ ...change })),
  dags: dags.length,
  runs: countOf(runs),
});

function outdated(row: LimitsRow | null): Conflict {
  const now = row === null ? "none are in force" : `${row.who} applied others, ${row.id}, at ${iso(row.at)}`;
  return new Conflict("limits_changed", `the limits are not those of the plan any more: ${now}; plan again`, {
    details: { current: row?.id ?? null },
  });
}
