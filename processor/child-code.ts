import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";

const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
/** By name without ending, relative to this file. */
const ENTRIES = { child: "./child", watchdog: "./watchdog", library: "../authoring/index" };

const OPTIONS = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  tsconfigRaw: "{}",
  write: false,
  logLevel: "silent",
} as const satisfies BuildOptions;

type Texts = Readonly<Record<keyof typeof ENTRIES, string>>;
let texts: Promise<Texts> | undefined;
const writing = new Map<string, Promise<string>>();

/**
 * Writes the child's program into the import folder, and `meridian` beside it, both as one plain file: such a child
 * is there in 0.1 s of CPU; with a TypeScript loader it took 0.45 s. Answers the program's path. The two copies of the
 * library share their registry, see `authoring/registry.ts`.
 */
export async function writeChild(folder: string): Promise<string> {
  const under = writing.get(folder);
  if (under !== undefined) return await under;
  const program = join(folder, "child.mjs");
  if (existsSync(program)) return program;
  const written = write(folder, program).finally(() => writing.delete(folder));
  writing.set(folder, written);
  return await written;
}

async function write(folder: string, program: string): Promise<string> {
  texts ??= bundled().catch((error: unknown) => {
    texts = undefined;
    throw error;
  });
  const { child, watchdog, library } = await texts;
  const home = join(folder, "node_modules", "meridian");
  await mkdir(home, { recursive: true });
  // Without a name: in a package called meridian, "meridian" would be that package itself, in TypeScript.
  await writeFile(join(folder, "package.json"), '{ "type": "module" }\n');
  const manifest = { name: "meridian", type: "module", exports: { ".": "./index.mjs" } };
  await writeFile(join(home, "package.json"), JSON.stringify(manifest));
  await writeFile(join(home, "index.mjs"), library);
  await writeFile(join(folder, "watchdog.mjs"), watchdog);
  // Last and at once: where it is, all of it is.
  await writeFile(`${program}.tmp`, child);
  await rename(`${program}.tmp`, program);
  return program;
}

async function bundled(): Promise<Texts> {
  const named = Object.entries(ENTRIES).map(async ([name, path]) => {
    const entry = fileURLToPath(new URL(path + EXTENSION, import.meta.url));
    const { outputFiles } = await build({ ...OPTIONS, entryPoints: [entry] });
    return [name, outputFiles[0]!.text];
  });
  return Object.fromEntries(await Promise.all(named)) as Texts;
}
