import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GRAPH_FORMAT } from "../core/graph.ts";
import type { Bundle } from "./types.ts";

/** Several parts are kept apart by a character that none of them contains. */
export const sha256 = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\0")).digest("hex");

/** Of a version: what it does (code) and how it is put together (graph). */
export const versionHash = (graphText: string, bundleHash: string): string => sha256(graphText, bundleHash);

/** While it is the same, importing the file again would find the same. */
export const contentHash = (bundle: Bundle, lockHash: string | null): string =>
  sha256(bundle.code, bundle.map, lockHash ?? "", String(GRAPH_FORMAT));

/** Spreads DAGs over the clock Schedules: 0 to 1023, stable. */
export const shardOf = (dagId: string): number => Number.parseInt(sha256(dagId).slice(0, 8), 16) % 1024;

const LOCK_FILES = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"];

/** Hash of the lock file by which packages resolve from `folder`, or null when there is none. */
export function lockHashOf(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    for (const name of LOCK_FILES) {
      try {
        return sha256(readFileSync(join(at, name), "utf8"));
      } catch {}
    }
    if (dirname(at) === at) return null;
  }
}
