import { Batcher } from "../core/batcher.ts";
import { Terminal } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { poolAccount } from "../core/ids.ts";
import { labelsOf, type TaskLabel } from "../core/map-label.ts";
import { planOf, runGraphOf, type RunGraph, type RunPlan } from "../core/plan.ts";
import type { LimitsFile } from "../core/limits-file.ts";
import { newProgress } from "../core/progress.ts";
import { withQueues, type QueueRules } from "../core/queue-rules.ts";
import { step } from "../core/run.ts";
import type { SerialWait } from "../core/waits.ts";
import type { Db } from "./connection.ts";
import { LimitsReader, type LimitsInForce } from "./limits-in-force.ts";
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
  /** Where labels of instances come from, by task id. */
  readonly labels: ReadonlyMap<string, TaskLabel>;
  /** JSON Schema of what a trigger may pass as `conf`; null: anything. */
  readonly params: SerialGraph["params"];
  /** What a try of a task is taken to use, by the task's id, where that is not one core. */
  readonly cores: ReadonlyMap<string, number>;
  /** What a run asks for when it opens. */
  readonly first: readonly FirstRow[];
  /** Small enough to travel with the start of a run's workflow. */
  readonly isSmall: boolean;
}

/** For the row of a request: what its task is taken to use, where that is not one core. */
export function coresOf({ cores }: LoadedVersion, taskId: string): { readonly cores?: number } {
  const asked = cores.get(taskId);
  return asked === undefined ? {} : { cores: asked };
}

/** Temporal keeps a start's input in the history; a larger plan comes with the run's first local activity. */
const SMALL_BYTES = 32 * 1024;

/** Versions a process keeps at hand. Only the limits file changes what they are, so the oldest may simply be dropped. */
const KEPT = 2000;

/** Bundles in one answer: each may hold megabytes. */
const BUNDLES_AT_ONCE = 20;

const NO_RULES: QueueRules = {};

/**
 * Reads DAG versions and bundles by their never-changing keys, and keeps the versions: their tasks on the queues that their
 * tenants may use by the limits in force. A run keeps what it was opened with.
 */
export class Versions {
  readonly limits: LimitsReader;
  readonly #db: Db;
  #kept = new Map<number, LoadedVersion>();
  #rules = NO_RULES;
  #limits: LimitsInForce | null = null;
  readonly #bundles: Batcher<string, BundleRow | undefined>;

  constructor(db: Db, limits = new LimitsReader(db)) {
    this.#db = db;
    this.limits = limits;
    this.#bundles = new Batcher(async (hashes) => {
      const rows = new Map((await bundleRows(db, hashes)).map((row) => [row.hash, row]));
      return hashes.map((hash) => rows.get(hash));
    }, BUNDLES_AT_ONCE);
  }

  async load(version: number): Promise<LoadedVersion> {
    return (await this.loadAll([version])).get(version)!;
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
    this.#go(await this.limits.soon());
    const loaded = new Map<number, LoadedVersion>();
    const missing = new Set<number>();
    for (const version of versions) {
      const known = this.#kept.get(version);
      if (known === undefined) missing.add(version);
      else loaded.set(version, known);
    }
    if (missing.size === 0) return loaded;
    const [kept, rules] = [this.#kept, this.#rules];
    for (const row of await versionRows(db, [...missing])) {
      const version = loadedOf(row, rules);
      loaded.set(row.version, version);
      kept.set(row.version, version);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
    }
    for (const version of missing) {
      if (!loaded.has(version)) throw new Terminal("no_version", `dag version ${version} is not stored`);
    }
    return loaded;
  }

  /** By these limits from now on: a DAG may have another tenant by them, too. */
  #go(limits: LimitsInForce | null): void {
    if (limits === this.#limits) return;
    const had = this.#rules;
    this.#limits = limits;
    this.#rules = queueRulesOf(limits?.file);
    if (Object.keys(had).length > 0 || Object.keys(this.#rules).length > 0) this.#kept = new Map();
  }

  async bundle(hash: string): Promise<{ code: string; sourceMap: string | null }> {
    const row = await this.#bundles.add(hash);
    if (row === undefined) throw new Terminal("no_bundle", `the code ${hash} is not stored`);
    return { code: row.code, sourceMap: row.source_map };
  }
}

const queueRulesOf = (file: LimitsFile | undefined): QueueRules => file?.queues ?? NO_RULES;

function loadedOf(row: VersionRow, rules: QueueRules): LoadedVersion {
  const cores = new Map(
    row.graph.tasks.flatMap(({ id, cores: asked }) => (asked === undefined ? [] : [[id, asked]])),
  );
  const graph = withQueues(runGraphOf(row.graph), row.tenant, rules);
  const { tasks } = graph;
  const plan = planOf(graph);
  const first: FirstRow[] = [];
  const { effects } = step(plan, newProgress(plan), { kind: "opened" });
  for (const effect of effects) {
    if (effect.kind !== "request") continue;
    const { id, pool, poolSlots: slots, priorityWeight: priority } = tasks[effect.task]!;
    const used = cores.get(id);
    first.push({
      task_id: id,
      map_index: effect.index,
      account: poolAccount(pool),
      slots,
      ...(used !== undefined && { cores: used }),
      priority,
    });
  }
  return {
    dagId: row.graph.dagId,
    graph,
    plan,
    bundleHash: row.bundle_hash,
    zone: row.graph.zone,
    waits: new Map(row.graph.tasks.flatMap(({ id, wait }) => (wait === undefined ? [] : [[id, wait]]))),
    labels: labelsOf(row.graph),
    // Absent in graphs from before there were params.
    params: row.graph.params ?? null,
    cores,
    first,
    // A wait begins by itself, and a map of a constant list may ask for hundreds of instances: such a run asks by itself.
    isSmall:
      graph.maps === undefined &&
      !effects.some(({ kind }) => kind === "defer") &&
      Buffer.byteLength(JSON.stringify(tasks)) <= SMALL_BYTES,
  };
}
