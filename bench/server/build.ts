// Builds the Temporal server and its SQL tool from their Go module into node_modules/.cache/meridian.
// About ten minutes on two cores the first time; nothing to do when the binaries are already there.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { built, SERVER_VERSION } from "./paths.ts";

const GO = "go";
const MODULE = `go.temporal.io/server@v${SERVER_VERSION}`;

function go(args: readonly string[], cwd?: string): string {
  try {
    return execFileSync(GO, args, {
      ...(cwd === undefined ? {} : { cwd }),
      // No cgo and no flags of the caller's, so that everyone measures the same binary.
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new Error(`bench: building Temporal ${SERVER_VERSION} needs Go 1.26 or later on PATH`, { cause });
  }
}

/** Builds beside the target and renames, so that an interrupted build never looks like a finished one. */
function build(moduleDir: string, command: string, target: string): void {
  if (existsSync(target)) return;
  console.log(`building ${command}: ${target}`);
  const partial = `${target}.partial`;
  // The module cache is read-only and no git tree: no change of go.mod, no VCS stamp.
  go(
    ["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", partial, command],
    moduleDir,
  );
  renameSync(partial, target);
}

/** Copies contents but not modes: folders of the module cache are read-only, and such a copy resists `rm -r`. */
function copyTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else writeFileSync(target, readFileSync(source));
  }
}

mkdirSync(built.folder, { recursive: true });
const moduleDir = (JSON.parse(go(["mod", "download", "-json", MODULE])) as { Dir: string }).Dir;
if (!existsSync(built.schema)) {
  const partial = `${built.schema}.partial`;
  rmSync(partial, { recursive: true, force: true });
  copyTree(join(moduleDir, "schema/postgresql/v12"), partial);
  renameSync(partial, built.schema);
}
build(moduleDir, "./cmd/tools/sql", built.sqlTool);
build(moduleDir, "./cmd/server", built.server);
console.log(`Temporal ${SERVER_VERSION} is built; \`npm run bench\` takes it from now on`);
