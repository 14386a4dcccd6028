/** Builds the page when its sources, or the packages it is built from, changed since the last build. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(WEB, "dist");
const STAMP = join(DIST, ".stamp");
const LOCK = join(DIST, ".lock");
/** What the bundle depends on outside web/: the tables of states, and the versions of packages. */
const OUTSIDE = ["core/states.ts", "package-lock.json"];
/** A build takes seconds; a lock this old was left by a process that died. */
const LOCK_STALE_MS = 60_000;

/** Safe beside itself: one builds, the others wait for it. A page that is served meanwhile stays whole. */
export async function buildIfStale(log: (line: string) => void = () => undefined): Promise<void> {
  const hash = hashSources();
  if (isBuilt(hash)) return;
  await lock();
  try {
    if (isBuilt(hash)) return;
    const startedAt = Date.now();
    log("Building the page (its sources changed)");
    const next = join(DIST, `.next-${process.pid}`);
    await buildInto(next);
    swapIn(next);
    writeFileSync(STAMP, hash);
    log(`Built the page in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

function isBuilt(hash: string): boolean {
  if (!existsSync(join(DIST, "index.html"))) return false;
  // An installed package has no lock file, its page with it, and nothing to build one with.
  if (!existsSync(join(ROOT, "package-lock.json"))) return true;
  return existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash;
}

async function lock(): Promise<void> {
  mkdirSync(DIST, { recursive: true });
  for (;;) {
    try {
      mkdirSync(LOCK);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const heldSince = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - heldSince > LOCK_STALE_MS) rmSync(LOCK, { recursive: true, force: true });
    await sleep(100);
  }
}

async function buildInto(outDir: string): Promise<void> {
  const { build } = await import("vite");
  // Under a test runner NODE_ENV is "test", which would bundle React's development build, three times the size.
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    const file = join(WEB, "vite.config.ts");
    await build({ root: WEB, configFile: file, logLevel: "error", build: { outDir } });
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}

/** New files first, then index.html in one rename, then the old files go: whoever loads the page meets one build. */
function swapIn(next: string): void {
  const names = readdirSync(next).filter((name) => name !== "index.html" && name !== "assets");
  const assets = readdirSync(join(next, "assets"));
  mkdirSync(join(DIST, "assets"), { recursive: true });
  for (const name of assets) renameSync(join(next, "assets", name), join(DIST, "assets", name));
  for (const name of names) renameSync(join(next, name), join(DIST, name));
  renameSync(join(next, "index.html"), join(DIST, "index.html"));
  for (const name of readdirSync(join(DIST, "assets"))) {
    if (!assets.includes(name)) rmSync(join(DIST, "assets", name));
  }
  for (const name of readdirSync(DIST)) {
    if (name.startsWith(".next-")) rmSync(join(DIST, name), { recursive: true, force: true });
  }
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
