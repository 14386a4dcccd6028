import { createMiddleware } from "hono/factory";
import type { ApiEnv } from "./deps.ts";

/** Who asks. Everybody is the same caller until there are users. */
export const whoAsks = () =>
  createMiddleware<ApiEnv>(async (c, next) => {
    c.set("who", "anonymous@api");
    await next();
  });
