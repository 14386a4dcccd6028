import { Batcher } from "../core/batcher.ts";
import { Terminal } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { poolAccount } from "../core/ids.ts";
import { planOf, runGraphOf, type RunGraph, type RunPlan } from "../core/plan.ts";
import { newProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { SerialWait } from "../core/waits.ts";
import type { Db } from "./connection.ts";
import { bundleRows, versionRows, type BundleRow, type FirstRow, type VersionRow } from "./runs.ts";

export interface LoadedVersion {
  readonly dagId: string;
  /** What a run carries of its graph. */
  readonly graph: RunGraph;
  readonly plan: RunPlan;
  readonly bundleHash: string;
  readonly zone: string;
  /** What tasks wait for, by id. */
  readonly waits: ReadonlyMap<string, SerialWait>;
  /** JSON Schema of what a trigger may pass as `conf`; null: anything. */
  readonly params: SerialGraph["params"];
  /** What a run asks for when it opens. */
  readonly first: readonly FirstRow[];
  /** Small enough to travel with the start of a run's workflow. */
  readonly isSmall: boolean;
}

/** Temporal keeps a start's input in the history; a larger plan comes with the run's first local activity. */
const SMALL_BYTES = 32 * 1024;

/** Versions a process keeps at hand. They never change, so the oldest may simply be dropped. */
const KEPT = 2000;

/** Bundles in one answer: each may hold megabytes. */
const BUNDLES_AT_ONCE = 20;

/** Reads DAG versions and bundles by their never-changing keys, and keeps the versions. */
export class Versions {
  readonly #db: Db;
  readonly #kept = new Map<number, LoadedVersion>();
  readonly #bundles: Batcher<string, BundleRow | undefined>;

  constructor(db: Db) {
    this.#db = db;
    this.#bundles = new Batcher(async (hashes) => {
      const rows = new Map((await bundleRows(db, hashes)).map((row) => [row.hash, row]));
      return hashes.map((hash) => rows.get(hash));
    }, BUNDLES_AT_ONCE);
  }

  async load(version: number): Promise<LoadedVersion> {
    return this.#kept.get(version) ?? (await this.loadAll([version])).get(version)!;
  }

  /** Null when it is not stored. */
  async find(version: number): Promise<LoadedVersion | null> {
    try {
      return await this.load(version);
    } catch (error) {
      if (error instanceof Terminal && error.code === "no_version") return null;
      throw error;
    }
  }

  /** In one round trip for those not at hand, by `db` inside a transaction. Throws when one is not stored. */
  async loadAll(versions: Iterable<number>, db = this.#db): Promise<ReadonlyMap<number, LoadedVersion>> {
    const loaded = new Map<number, LoadedVersion>();
    const missing = new Set<number>();
    for (const version of versions) {
      const known = this.#kept.get(version);
      if (known === undefined) missing.add(version);
      else loaded.set(version, known);
    }
    if (missing.size === 0) return loaded;
    for (const row of await versionRows(db, [...missing])) {
      const version = loadedOf(row);
      loaded.set(row.version, version);
      this.#kept.set(row.version, version);
      if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    }
    for (const version of missing) {
      if (!loaded.has(version)) throw new Terminal("no_version", `dag version ${version} is not stored`);
    }
    return loaded;
  }

  async bundle(hash: string): Promise<{ code: string; sourceMap: string | null }> {
    const row = await this.#bundles.add(hash);
    if (row === undefined) throw new Terminal("no_bundle", `the code ${hash} is not stored`);
    return { code: row.code, sourceMap: row.source_map };
  }
}

function loadedOf(row: VersionRow): LoadedVersion {
  const graph = runGraphOf(row.graph);
  const { tasks } = graph;
  const plan = planOf(graph);
  const first: FirstRow[] = [];
  const { effects } = step(plan, newProgress(plan), { kind: "opened" });
  for (const effect of effects) {
    if (effect.kind !== "request") continue;
    const { id, pool, poolSlots: slots, priorityWeight: priority } = tasks[effect.task]!;
    first.push({ task_id: id, map_index: effect.index, account: poolAccount(pool), slots, priority });
  }
  return {
    dagId: row.graph.dagId,
    graph,
    plan,
    bundleHash: row.bundle_hash,
    zone: row.graph.zone,
    waits: new Map(row.graph.tasks.flatMap(({ id, wait }) => (wait === undefined ? [] : [[id, wait]]))),
    // Absent in graphs from before there were params.
    params: row.graph.params ?? null,
    first,
    // A wait begins by itself, and a map of a constant list may ask for hundreds of instances: such a run asks by itself.
    isSmall:
      graph.maps === undefined &&
      !effects.some(({ kind }) => kind === "defer") &&
      Buffer.byteLength(JSON.stringify(tasks)) <= SMALL_BYTES,
  };
}
