import type pg from "pg";
import { Terminal } from "../core/errors.ts";
import { planOf, type RunPlan, type RunTask } from "../core/run.ts";
import { bundleOf, versionOf } from "../db/runs.ts";

export interface LoadedVersion {
  readonly tasks: readonly RunTask[];
  readonly plan: RunPlan;
  /** Task id to position. */
  readonly positions: ReadonlyMap<string, number>;
  readonly bundleHash: string;
  readonly zone: string;
}

/** Versions a worker keeps at hand. They never change, so the oldest may simply be dropped. */
const KEPT = 2000;

/** Reads DAG versions and bundles by their never-changing keys, and keeps the versions. */
export class Versions {
  readonly #pool: pg.Pool;
  readonly #kept = new Map<number, LoadedVersion>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async load(version: number): Promise<LoadedVersion> {
    const known = this.#kept.get(version);
    if (known !== undefined) return known;
    const row = await versionOf(this.#pool, version);
    if (row === null) throw new Terminal("no_version", `dag version ${version} is not stored`);
    const tasks = row.graph.tasks.map(runTaskOf);
    const loaded = {
      tasks,
      plan: planOf({ tasks }),
      positions: new Map(tasks.map((task, position) => [task.id, position])),
      bundleHash: row.bundle_hash,
      zone: row.graph.zone,
    };
    this.#kept.set(version, loaded);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return loaded;
  }

  async bundle(hash: string): Promise<{ code: string; sourceMap: string | null }> {
    const row = await bundleOf(this.#pool, hash);
    if (row === null) throw new Terminal("no_bundle", `the code ${hash} is not stored`);
    return { code: row.code, sourceMap: row.source_map };
  }
}

/** Only what a run needs: it is kept in the run's history. */
function runTaskOf(task: RunTask): RunTask {
  return {
    id: task.id,
    upstream: task.upstream,
    inputs: task.inputs,
    triggerRule: task.triggerRule,
    retries: task.retries,
    retryDelayMs: task.retryDelayMs,
    retryFactor: task.retryFactor,
    retryMaxDelayMs: task.retryMaxDelayMs,
    executionTimeoutMs: task.executionTimeoutMs,
    pool: task.pool,
    poolSlots: task.poolSlots,
    priorityWeight: task.priorityWeight,
    queue: task.queue,
    isolation: task.isolation,
  };
}
