import { createRoute } from "@hono/zod-openapi";
import { Conflict } from "../core/errors.ts";
import { admissionPass } from "../db/pools/pass.ts";
import { setRunPriority } from "../db/pools/run-priority.ts";
import { PriorityBody, RunPriority } from "./contracts-commands.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes, RunPath } from "./requests.ts";
import { findRun } from "./runs.ts";
import { json } from "./shape.ts";

const moveRun = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/priority",
  summary: "Move what a run waits with, and all that it asks for later. 409 when it is over",
  request: {
    params: RunPath,
    body: { required: true, content: { "application/json": { schema: PriorityBody } } },
  },
  responses: { 200: json(RunPriority, "It is moved") },
});

export const runPriorityRoutes = (deps: AppDeps) =>
  newRoutes().openapi(moveRun, async (c) => {
    const { dagId, runId } = c.req.valid("param");
    const { priority } = c.req.valid("json");
    const { run } = await findRun(deps.db, dagId, runId);
    const moved = await setRunPriority(deps.db, run, priority, c.get("who"));
    if (moved === null)
      throw new Conflict("run_over", `run "${runId}" of dag "${dagId}" is over: it waits for nothing`);
    await admissionPass(deps.db);
    return c.json({ dagId, runId, priority, moved }, 200);
  });
