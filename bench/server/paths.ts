import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The Temporal server the figures are for; the dev server of the Temporal command has its own. */
export const SERVER_VERSION = "1.32.1";

const cache = resolve(import.meta.dirname, "../../node_modules/.cache/meridian");
const exe = process.platform === "win32" ? ".exe" : "";

/** The built server: binaries, and the schema they belong to. */
export const built = {
  folder: join(cache, `temporal-server-${SERVER_VERSION}`),
  server: join(cache, `temporal-server-${SERVER_VERSION}`, `temporal-server${exe}`),
  sqlTool: join(cache, `temporal-server-${SERVER_VERSION}`, `temporal-sql-tool${exe}`),
  schema: join(cache, `temporal-server-${SERVER_VERSION}`, "schema"),
};

/** Parent of the data folders of running benches: on the disk of the clone, since /tmp may be memory. */
export const dataParent = join(cache, "bench");

/** Whether `npm run bench:server` has been run here. */
export function isBuilt(): boolean {
  return existsSync(built.server) && existsSync(built.sqlTool) && existsSync(built.schema);
}
