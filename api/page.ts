import { existsSync } from "node:fs";
import { join } from "node:path";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { problem } from "./errors.ts";

const NOT_BUILT = `The page is not built here. The API is at /api/v1, its description at /api/openapi.json.
In a working tree, "npm start" builds the page.
`;

/** The built page: files whose name holds their hash are kept for ever, `index.html` is asked for each time. */
export function pageRoutes(folder: string | null) {
  const routes = new Hono();
  const root = folder ?? "";
  const built = (): boolean => folder !== null && existsSync(join(folder, "index.html"));
  routes.get("/assets/*", async (c, next) => {
    if (!built()) return c.text(NOT_BUILT, 503);
    const kept = () => c.header("Cache-Control", "public, max-age=31536000, immutable");
    const file = await serveStatic({ root, onFound: kept })(c, next);
    return file ?? c.text("no such file\n", 404);
  });
  routes.get("*", async (c, next) => {
    if (!built()) return c.text(NOT_BUILT, 503);
    const checked = () => c.header("Cache-Control", "no-cache");
    const file = await serveStatic({ root, onFound: checked })(c, next);
    if (file !== undefined) return file;
    // Every other address is a view of the page.
    return serveStatic({ root, path: "index.html", onFound: checked })(c, next);
  });
  routes.all("*", (c) => problem(c, 405, "not_allowed", `${c.req.method} ${c.req.path} is not taken`));
  return routes;
}
