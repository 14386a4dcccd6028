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
  routes.get("*", async (c) => {
    if (folder === null || !existsSync(join(folder, "index.html"))) return c.text(NOT_BUILT, 503);
    const file = serveStatic({ root: folder });
    const index = serveStatic({ root: folder, path: "index.html" });
    const asset = c.req.path.startsWith("/assets/");
    c.header("Cache-Control", asset ? "public, max-age=31536000, immutable" : "no-cache");
    const found = await file(c, noNext);
    if (found) return found;
    c.header("Cache-Control", "no-cache");
    // Every other address is a view of the page.
    return asset ? c.text("no such file\n", 404) : ((await index(c, noNext)) ?? c.text(NOT_BUILT, 503));
  });
  routes.all("*", (c) => problem(c, 405, "not_allowed", `${c.req.method} ${c.req.path} is not taken`));
  return routes;
}

const noNext = () => Promise.resolve();
