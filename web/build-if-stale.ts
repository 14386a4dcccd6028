/** Builds the page when its sources, or the packages it is built from, changed since the last build. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { lockFile } from "./build-lock.ts";

const WEB = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(WEB, "dist");
const STAMP = join(DIST, ".stamp");
/** The versions of the packages in the bundle. */
const PACKAGES = join(ROOT, "package-lock.json");

/** Safe beside itself: one builds, the others wait for it. A page that is served meanwhile stays whole. */
export async function buildIfStale(log: (line: string) => void = () => undefined): Promise<void> {
  if (isPageBuilt()) return;
  mkdirSync(DIST, { recursive: true });
  const unlock = await lockFile(join(DIST, ".lock"));
  try {
    if (isPageBuilt()) return;
    const startedAt = Date.now();
    log("Building the page (its sources changed)");
    const next = join(DIST, `.next-${process.pid}`);
    const sources = hashSources();
    const outside = await buildInto(next);
    swapIn(next);
    writeFileSync(STAMP, JSON.stringify({ sources, outside } satisfies Stamp, null, 2));
    log(`Built the page in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  } finally {
    unlock();
  }
}

/** What the page was built from. A file outside web/ can only come in by a change of one that is here. */
interface Stamp {
  /** Hash of web/ and of the packages' versions. */
  readonly sources: string;
  /** Hashes of the files outside web/ that are in the bundle, by path. */
  readonly outside: Readonly<Record<string, string>>;
}

function readStamp(): Stamp | null {
  try {
    const { sources, outside } = JSON.parse(readFileSync(STAMP, "utf8")) as Partial<Stamp>;
    return sources === undefined || outside === undefined ? null : { sources, outside };
  } catch {
    return null;
  }
}

/** Whether the page is there, and of the sources as they are. */
export function isPageBuilt(): boolean {
  if (!existsSync(join(DIST, "index.html"))) return false;
  // An installed package has no lock file, its page with it, and nothing to build one with.
  if (!existsSync(PACKAGES)) return true;
  const stamp = readStamp();
  return (
    stamp !== null &&
    stamp.sources === hashSources() &&
    Object.entries(stamp.outside).every(([file, hash]) => {
      const path = join(ROOT, file);
      return existsSync(path) && hashOf(path) === hash;
    })
  );
}

/** Answers the hashes of the files outside web/ that it took in, as they were when it read them. */
async function buildInto(outDir: string): Promise<Record<string, string>> {
  const outside: Record<string, string> = {};
  const watch: Plugin = {
    name: "outside",
    enforce: "pre",
    load(id) {
      const file = relative(ROOT, id);
      const [folder] = file.split(sep);
      if (!["..", "web", "node_modules"].includes(folder!) && existsSync(join(ROOT, file)))
        outside[file.replaceAll(sep, "/")] = hashOf(join(ROOT, file));
      return null;
    },
  };
  const { build } = await import("vite");
  // Under a test runner NODE_ENV is "test", which would bundle React's development build, three times the size.
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    const file = join(WEB, "vite.config.ts");
    await build({ root: WEB, configFile: file, logLevel: "error", plugins: [watch], build: { outDir } });
    return outside;
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

const hashOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

function hashSources(): string {
  const hash = createHash("sha256");
  const packages = existsSync(PACKAGES) ? [PACKAGES] : [];
  for (const file of [...listFiles(WEB), ...packages]) {
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
