/** What the package has beside its sources, in `dist/`: the client as plain JavaScript, and declarations for compilers. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DIST = join(ROOT, "dist");
/** An installed package has no lock file, and its `dist/` with it. */
const isClone = existsSync(join(ROOT, "package-lock.json"));

/**
 * `dist/client.js`: Node strips no types below `node_modules`, and browsers strip none at all. It takes 50 ms, so it is
 * made at each install and start of a clone rather than looked at for changes.
 */
export async function buildClient(): Promise<void> {
  if (!isClone) return;
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["remote/index.ts"],
    bundle: true,
    format: "esm",
    // What only Node has, or lies in a package, is an error here.
    platform: "neutral",
    target: "es2022",
    tsconfigRaw: "{}",
    write: false,
    logLevel: "silent",
  });
  const path = join(DIST, "client.js");
  const { text } = outputFiles[0]!;
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(DIST, { recursive: true });
  // By rename: whoever imports it meanwhile reads all of the one or the other.
  const next = `${path}.${process.pid}`;
  writeFileSync(next, text);
  renameSync(next, path);
}

/**
 * `dist/types`: a compiler holds sources in `node_modules` against the rules of whoever imports them, which may be
 * stricter than ours; declarations are left alone.
 */
export function buildTypes(): void {
  const folder = join(DIST, "types");
  rmSync(folder, { recursive: true, force: true });
  const config = join(DIST, "tsconfig.json");
  mkdirSync(DIST, { recursive: true });
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: "types",
    rootDir: "..",
  };
  const files = ["authoring/index.ts", "authoring/testing.ts", "remote/index.ts"].map((name) => `../${name}`);
  writeFileSync(config, JSON.stringify({ extends: "../tsconfig.json", compilerOptions, include: [], files }));
  try {
    const tsc = createRequire(import.meta.url).resolve("typescript/package.json");
    execFileSync(process.execPath, [join(tsc, "../bin/tsc"), "-p", config], { stdio: "inherit" });
  } finally {
    rmSync(config);
  }
}
