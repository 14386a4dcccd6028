/** Builds the page when its sources, or the packages it is built from, changed since the last build. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const STAMP = join(WEB, "dist", ".stamp");
/** What the bundle depends on outside web/: the tables of states, and the versions of packages. */
const OUTSIDE = ["core/states.ts", "package-lock.json"];

export async function buildIfStale(log: (line: string) => void = () => undefined): Promise<void> {
  const hash = hashSources();
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash) return;
  const startedAt = Date.now();
  log("Building the page (its sources changed)");
  const { build } = await import("vite");
  await build({ root: WEB, configFile: join(WEB, "vite.config.ts"), logLevel: "warn" });
  writeFileSync(STAMP, hash);
  log(`Built the page in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

function hashSources(): string {
  const hash = createHash("sha256");
  const outside = OUTSIDE.map((file) => join(ROOT, file)).filter((file) => existsSync(file));
  for (const file of [...listFiles(WEB), ...outside]) {
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== "dist" && entry.name !== "node_modules" && !entry.name.startsWith("."))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? listFiles(path) : [path];
    });
}
