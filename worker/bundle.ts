import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleWorkflowCode } from "@temporalio/worker";
import { transform } from "esbuild";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Beside the sources, so that a package carries it. */
const BUNDLE = join(ROOT, "workflows/bundle/workflows.js");
const STAMP = join(ROOT, "workflows/bundle/stamp");

/** The bundle must stay small: it is loaded by each worker (without its source map). */
export const BUNDLE_LIMIT_BYTES = 450_000;

/** Whether the workflow bundle is there, and of the sources as they are. */
export const isBundleBuilt = (stamp = sourceStamp()): boolean =>
  existsSync(BUNDLE) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === stamp;

/** Path of the workflow bundle; made when it is missing or older than its sources. Throws when it is too large. */
export async function workflowBundle(log: (line: string) => void): Promise<string> {
  const stamp = sourceStamp();
  if (isBundleBuilt(stamp)) return BUNDLE;
  const workflowsPath = join(ROOT, "workflows/index.ts");
  const bundled = await bundleWorkflowCode({
    workflowsPath,
    // Loaded once per worker instead of once per run: no module of ours keeps anything between calls.
    preloadModules: [workflowsPath],
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: log, error: log },
  });
  // Comments are half of it. Its names stay as they are, and its source map is carried on.
  const { code } = await transform(bundled.code, {
    minifyWhitespace: true,
    sourcemap: "inline",
    sourcefile: "workflows.js",
    keepNames: false,
    logLevel: "silent",
  });
  const plain = withoutMap(code);
  if (plain.length > BUNDLE_LIMIT_BYTES) {
    throw new Error(
      `the workflow bundle has ${plain.length} bytes, more than ${BUNDLE_LIMIT_BYTES}: something large is imported`,
    );
  }
  mkdirSync(dirname(BUNDLE), { recursive: true });
  // Written whole, then moved: several processes may be at it.
  for (const [path, content] of [
    [BUNDLE, code],
    [STAMP, stamp],
  ] as const) {
    const temporary = `${path}.${process.pid}`;
    writeFileSync(temporary, content);
    renameSync(temporary, path);
  }
  return BUNDLE;
}

/** The bundle's text without its inline source map. */
export function withoutMap(code: string): string {
  const at = code.lastIndexOf("//# sourceMappingURL=");
  return at === -1 ? code : code.slice(0, at);
}

function sourceStamp(): string {
  const hash = createHash("sha256");
  for (const folder of ["workflows", "core"]) {
    for (const file of readdirSync(join(ROOT, folder)).sort()) {
      if (!file.endsWith(".ts")) continue;
      hash.update(`${folder}/${file}\n`).update(readFileSync(join(ROOT, folder, file)));
    }
  }
  hash.update(readFileSync(fileURLToPath(import.meta.url)));
  hash.update(readFileSync(createRequire(import.meta.url).resolve("@temporalio/workflow/package.json")));
  return hash.digest("hex");
}
