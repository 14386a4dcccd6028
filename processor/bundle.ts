import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { build, type BuildFailure, type BuildOptions, type Message } from "esbuild";
import { sha256 } from "./hashes.ts";
import type { Bundle, FileError } from "./types.ts";

/** `code` of a file whose source does not bundle. */
const BUNDLE_FAILED = "bundle_failed";

const OPTIONS = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // Resolved where the code runs: a bundle with zod inside is 755 kB, without it 132 bytes.
  packages: "external",
  loader: { ".csv": "text", ".sql": "text", ".txt": "text", ".md": "text" },
  sourcemap: "external",
  outfile: "bundle.mjs",
  charset: "utf8",
  legalComments: "none",
  // The same code whatever tsconfig.json lies about.
  tsconfigRaw: "{}",
  metafile: true,
  write: false,
  logLevel: "silent",
} as const satisfies BuildOptions;

/** What esbuild puts for a `require` that is left when a CommonJS file is bundled; an ES module has none. */
const NO_REQUIRE = 'Dynamic require of "';
const REQUIRE = {
  js: 'import { createRequire as makeRequire } from "node:module";\nvar require = makeRequire(import.meta.url);',
};

export type Bundled =
  | { readonly kind: "ok"; readonly bundle: Bundle }
  | { readonly kind: "failed"; readonly error: FileError };

/**
 * Bundles one DAG file. Names inside the code and its map are relative to `folder`, so that one source
 * has one hash wherever it lies.
 */
export async function bundleFile(folder: string, file: string): Promise<Bundled> {
  const root = realpathSync(folder);
  const entry = entryPoint(root, file);
  const options = { ...OPTIONS, absWorkingDir: root, entryPoints: [entry] };
  try {
    const result = await buildWith(isLink(root, entry) ? await linked(options) : options);
    const texts = new Map(result.outputFiles.map((out) => [out.path.endsWith(".map"), out.text]));
    const code = texts.get(false)!;
    const inputs = Object.keys(result.metafile.inputs).map((input) => resolve(root, input));
    return { kind: "ok", bundle: { hash: sha256(code), code, map: texts.get(true)!, inputs } };
  } catch (error) {
    return { kind: "failed", error: bundleError(error, root) };
  }
}

type Options = typeof OPTIONS & { readonly entryPoints: string[]; readonly preserveSymlinks?: boolean };

async function buildWith(options: Options) {
  const result = await build(options);
  const needsRequire = result.outputFiles.some(
    ({ path, text }) => !path.endsWith(".map") && text.includes(NO_REQUIRE),
  );
  return needsRequire ? await build({ ...options, banner: REQUIRE }) : result;
}

const isLink = (root: string, entry: string): boolean =>
  resolve(root, entry) !== realpathSync(resolve(root, entry));

/**
 * A file by the name of its link where that can be: a mounted ConfigMap links to a folder whose name is another with each
 * deployment, and names are part of the code. One that imports what lies beside its target goes by the target's name.
 */
async function linked(options: Options): Promise<Options> {
  const byLink = { ...options, preserveSymlinks: true };
  return await build(byLink).then(
    () => byLink,
    () => options,
  );
}

function entryPoint(root: string, file: string): string {
  const path = isAbsolute(file) ? relative(root, realpathSync(file)) : file;
  return `./${path.split(sep).join("/")}`;
}

function bundleError(error: unknown, root: string): FileError {
  const messages = (error as Partial<BuildFailure>).errors;
  const first = messages?.[0];
  if (first === undefined) {
    return {
      code: BUNDLE_FAILED,
      message: String((error as Error).message ?? error).replaceAll(`${root}${sep}`, ""),
    };
  }
  const more = messages!.length > 1 ? ` (and ${messages!.length - 1} more)` : "";
  const text = `${first.text}${more}`.replaceAll(`${root}${sep}`, "");
  const { location } = first;
  return {
    code: BUNDLE_FAILED,
    message: text,
    ...(location === null
      ? {}
      : { file: location.file, line: location.line, column: location.column + 1, stack: excerpt(location) }),
  };
}

function excerpt(location: NonNullable<Message["location"]>): string {
  const { file, line, column, lineText, length } = location;
  return `${file}:${line}:${column + 1}\n  ${lineText}\n  ${" ".repeat(column)}${"^".repeat(Math.max(1, length))}`;
}
