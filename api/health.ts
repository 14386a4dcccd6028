import { createRoute } from "@hono/zod-openapi";
import { readSchemaNumber } from "../db/read/schema-number.ts";
import { Health } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes } from "./requests.ts";
import { json } from "./shape.ts";

/** A database that needs longer counts as away. */
const PATIENCE_MS = 2000;

const getHealth = createRoute({
  method: "get",
  path: "/health",
  summary: "Whether the database answers, and what this server knows",
  responses: { 200: json(Health, "All is well"), 503: json(Health, "The database is away") },
});

export const healthRoutes = (deps: AppDeps) =>
  newRoutes().openapi(getHealth, async (c) => {
    const migration = await within(PATIENCE_MS, readSchemaNumber(deps.db)).catch(() => undefined);
    const reachable = migration !== undefined;
    const body: Health = {
      status: reachable ? "ok" : "degraded",
      version: deps.version,
      database: { reachable, migration: migration ?? null },
      temporal: {
        known: deps.temporalWeb !== null,
        web: deps.temporalWeb?.url ?? null,
        namespace: deps.temporalWeb?.namespace ?? null,
      },
    };
    return c.json(body, reachable ? 200 : 503);
  });

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
