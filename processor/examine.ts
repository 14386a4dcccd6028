import type { SerialGraph } from "../core/graph.ts";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePath, writeBundle } from "../platform/code-folder.ts";
import { withoutFolder } from "./beside.ts";
import { bundleFile } from "./bundle.ts";
import { contentHash } from "./hashes.ts";
import type { ChildAnswer } from "./import-child.ts";
import type { Importer } from "./importer.ts";
import { changingError, isInDoubt, networkError } from "./purity.ts";
import { sourceError } from "./source-error.ts";
import type { Finding } from "./store.ts";
import type { Bundle } from "./types.ts";

export interface Surroundings {
  /** The DAG folder. */
  readonly folder: string;
  /** Where bundles are put while they are imported; inside the project, so that packages resolve. */
  readonly importFolder: string;
  readonly importer: Importer;
  readonly lockHash: string | null;
}

/**
 * `slow`: not prompt, or it took its child down, or read the clock; `rest` tries it alone, and may take the whole time
 * limit.
 */
export type Examined =
  | { readonly kind: "found"; readonly finding: Finding }
  | { readonly kind: "unchanged" }
  | { readonly kind: "stopped" }
  | { readonly kind: "slow"; readonly rest: Promise<Examined> };

export interface FileBundle {
  /** Absolute paths on whose change the file is to be examined again. */
  readonly inputs: readonly string[];
  /** null: it does not bundle, see `finding`. */
  readonly bundle: Bundle | null;
  readonly finding: Finding | null;
}

/** First half: the file with all that it imports, as one module. */
export async function bundleOne(folder: string, path: string): Promise<FileBundle> {
  const startedAt = performance.now();
  const bundled = await bundleFile(folder, path);
  if (bundled.kind === "ok") return { inputs: bundled.bundle.inputs, bundle: bundled.bundle, finding: null };
  const { error } = bundled;
  const inputs = [resolve(folder, path), ...(error.file === undefined ? [] : [resolve(folder, error.file)])];
  const durationMs = Math.round(performance.now() - startedAt);
  return { inputs: [...new Set(inputs)], bundle: null, finding: { kind: "failed", path, durationMs, error } };
}

let counter = 0;

/** Second half: what importing the bundle defines. `knownHash` is the content hash that needs no import. */
export async function importOne(
  around: Surroundings,
  path: string,
  bundle: Bundle,
  knownHash: string | null,
  signal: AbortSignal,
): Promise<Examined> {
  const hash = contentHash(bundle, around.lockHash);
  if (hash === knownHash) return { kind: "unchanged" };
  // A name of its own: the loader never answers from an earlier import, and its map is this one.
  counter += 1;
  const name = `${counter}-${hash}`;
  const code = await writeBundle(around.importFolder, name, bundle.code, rooted(bundle.map, around.folder));
  const examined = (answer: ChildAnswer): Examined => toFinding(around, path, bundle, hash, name, answer);
  const { importer } = around;

  const first = await importer.prompt(code).catch(async (error: unknown) => {
    await forget(around.importFolder, name);
    throw error;
  });
  if (first.kind !== "alone" && !(first.kind === "ok" && isInDoubt(first))) {
    await forget(around.importFolder, name);
    return examined(first);
  }
  const settle = async (): Promise<Examined> => {
    const answer = first.kind === "alone" ? await importer.alone(code, false, signal) : first;
    if (answer.kind !== "ok" || !isInDoubt(answer)) return examined(answer);
    const second = await importer.alone(code, true, signal);
    if (second.kind !== "ok") return examined(second);
    const error = changingError(answer, second);
    return examined(error === null ? answer : { kind: "failed", error, durationMs: answer.durationMs });
  };
  return { kind: "slow", rest: settle().finally(() => void forget(around.importFolder, name)) };
}

/** The map with its sources where they really are, so that stacks name files that can be opened. */
export function rooted(map: string, folder: string): string {
  return JSON.stringify({ ...(JSON.parse(map) as object), sourceRoot: `${pathToFileURL(folder).href}/` });
}

async function forget(folder: string, name: string): Promise<void> {
  const path = bundlePath(folder, name);
  await Promise.all([rm(path, { force: true }), rm(`${path}.map`, { force: true })]);
}

function toFinding(
  around: Surroundings,
  path: string,
  bundle: Bundle,
  hash: string,
  name: string,
  answer: ChildAnswer,
): Examined {
  const { durationMs } = answer;
  const network = answer.kind === "ok" ? networkError(answer) : null;
  if (network !== null) {
    const error = sourceError(network, bundle, around.folder, name, path);
    return { kind: "found", finding: { kind: "failed", path, durationMs, error } };
  }
  if (answer.kind === "ok") {
    const dags = graphsOf(answer.graphs);
    if (dags === null) {
      const error = sourceError(NO_GRAPH, bundle, around.folder, name, path);
      return { kind: "found", finding: { kind: "failed", path, durationMs, error } };
    }
    const { lockHash } = around;
    return {
      kind: "found",
      finding: { kind: "ok", path, durationMs, contentHash: hash, lockHash, bundle, dags },
    };
  }
  if (answer.kind === "died" && answer.cause === "stopped") return { kind: "stopped" };
  const raw = sourceError(answer.error, bundle, around.folder, name, path);
  const error = { ...raw, message: withoutFolder(raw.message, around.importFolder) };
  return { kind: "found", finding: { kind: "failed", path, durationMs, error } };
}

/** A file may have changed what all of its process uses. */
const NO_GRAPH = {
  code: "bad_graph",
  message: "its DAGs came out as no JSON: does the file change JSON, Array or Object for all?",
} as const;

function graphsOf(texts: readonly string[]): { text: string; graph: SerialGraph }[] | null {
  try {
    return texts.map((text) => ({ text, graph: JSON.parse(text) as SerialGraph }));
  } catch {
    return null;
  }
}
