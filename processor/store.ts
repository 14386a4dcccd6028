import type pg from "pg";
import { canonicalJson } from "../core/canonical.ts";
import type { SerialGraph } from "../core/graph.ts";
import { classNumber, NO_LIMITS, placeOf, type LimitsFile } from "../core/limits-file.ts";
import { transaction } from "../db/connection.ts";
import { deactivateDags } from "../db/dags/deactivate-dags.ts";
import { deleteFiles } from "../db/dags/delete-files.ts";
import { insertBundles } from "../db/dags/insert-bundles.ts";
import { storableJson } from "../db/json.ts";
import { readLimits } from "../db/limits.ts";
import { insertVersions } from "../db/dags/insert-versions.ts";
import { lockStoring } from "../db/dags/lock-storing.ts";
import { putInForce } from "../db/dags/put-in-force.ts";
import { readDagsNow } from "../db/dags/read-dags.ts";
import { readFilesByPath, readFilesOfDags } from "../db/dags/read-files.ts";
import type { DagRow, FileFound, FileRow, VersionRow } from "../db/dags/types.ts";
import { upsertDags } from "../db/dags/upsert-dags.ts";
import { upsertFiles } from "../db/dags/upsert-files.ts";
import { upsertDagAccounts, type DagLimits } from "../db/dags/upsert-dag-accounts.ts";
import { Claims, isDuplicate } from "./claims.ts";
import { sha256, shardOf, versionHash } from "./hashes.ts";
import type { Bundle, FileError, ImportedDag } from "./types.ts";

/** What was found in one DAG file. Paths are relative to the DAG folder. */
export type Finding = {
  readonly path: string;
  readonly durationMs: number;
  /** How long its change waited for this import; null or missing: it was imported for another reason. */
  readonly queueMs?: number | null;
} & (
  | {
      readonly kind: "ok";
      readonly contentHash: string;
      readonly lockHash: string | null;
      readonly bundle: Bundle;
      readonly dags: readonly ImportedDag[];
    }
  | { readonly kind: "failed"; readonly error: FileError }
);
type Good = Extract<Finding, { kind: "ok" }>;

/** The line of a DAG file on which an id stands. */
export type LineOf = (path: string, dagId: string) => number | undefined;

export interface Stored {
  /** DAGs that are new, changed or active again. */
  readonly changed: readonly string[];
  readonly deactivated: readonly string[];
  /** Files that share an id with another. */
  readonly conflicts: ReadonlyMap<string, FileError>;
  /** Files that were broken and are fine again. */
  readonly mended: readonly string[];
  /** Files whose DAGs are as before, and that were not broken. */
  readonly same: ReadonlySet<string>;
  /** Files whose last error has gone with what another file defined: to be imported again. */
  readonly recheck: readonly string[];
}

/**
 * Stores what was found in some files, and that others are gone, in one transaction. What is the same as before is
 * not written; a file that is broken, or shares an id with another, writes only its error.
 */
export async function storeFindings(
  pool: pg.Pool,
  found: readonly Finding[],
  gone: readonly string[] = [],
  /** Files that are gone too, and will be stored as such once what took their place is: they claim nothing more. */
  leaving: ReadonlySet<string> = new Set(),
  /** Where an id stands that files share. */
  lineOf: LineOf = () => undefined,
): Promise<Stored> {
  return await transaction(pool, async (db) => {
    await lockStoring(db);
    const paths = new Set([...found.map((finding) => finding.path), ...gone]);
    const before = new Map((await readFilesByPath(db, [...paths])).map((row) => [row.path, row]));
    const owned = await readOwned(db, [...paths]);
    const claimedBy = (finding: Finding) => claimsOf(finding, owned);
    const ids = new Set([...before.values()].flatMap((row) => row.dag_ids).concat(...owned.values()));
    const { claims, others } = await readClaims(db, new Set([...paths, ...leaving]), found, claimedBy, ids);

    const conflicts = new Map<string, FileError>();
    const rows: FileFound[] = [];
    const good: Good[] = [];
    for (const finding of found) {
      const dagIds = claimedBy(finding);
      const conflict =
        finding.kind === "ok" ? claims.conflictOf(dagIds, (id) => lineOf(finding.path, id)) : null;
      if (conflict !== null) conflicts.set(finding.path, conflict);
      const error = finding.kind === "failed" ? finding.error : conflict;
      if (finding.kind === "ok" && error === null) good.push(finding);
      rows.push({
        path: finding.path,
        duration_ms: finding.durationMs,
        queue_ms: finding.queueMs ?? null,
        imported: true,
        stored: false,
        content_hash: finding.kind === "ok" && error === null ? finding.contentHash : null,
        error: storable(error),
        dag_ids: dagIds,
      });
    }
    const recheck: string[] = [];
    for (const other of others) {
      const conflict = claims.conflictOf(other.dag_ids, (id) => lineOf(other.path, id));
      if (conflict === null && isDuplicate(other)) recheck.push(other.path);
      if (conflict === null || (other.error !== null && !isDuplicate(other))) continue;
      conflicts.set(other.path, conflict);
      rows.push({ ...other, content_hash: null, error: conflict, imported: false, stored: false });
    }

    const changed = await storeDags(db, good);
    const isNew = new Set(changed);
    const isStored = ({ path, dag_ids }: FileFound): boolean =>
      dag_ids.some((id) => isNew.has(id)) || !before.get(path)?.dag_ids.every((id) => dag_ids.includes(id));
    const stored = new Set(good.map((finding) => finding.path));
    const news = new Set(rows.filter((row) => stored.has(row.path) && isStored(row)).map((row) => row.path));
    await upsertFiles(
      db,
      rows.map((row) => ({ ...row, stored: news.has(row.path) })),
    );
    if (gone.length > 0) await deleteFiles(db, gone);
    const settled = new Set([...good.map((finding) => finding.path), ...gone]);
    const deactivated = await dropOrphans(db, ids, settled, claims);
    const mended = [...stored].filter((path) => (before.get(path)?.error ?? null) !== null);
    const same = new Set([...stored].filter((path) => !news.has(path) && !mended.includes(path)));
    return { changed, deactivated, conflicts, mended, same, recheck };
  });
}

type Owned = ReadonlyMap<string, readonly string[]>;

/** The DAGs whose version in force came from these files, by file. */
async function readOwned(db: pg.PoolClient, paths: readonly string[]): Promise<Owned> {
  const owned = new Map<string, string[]>();
  for (const row of await readDagsNow(db, [], paths)) {
    if (row.active) owned.set(row.file, [...(owned.get(row.file) ?? []), row.dag_id].sort());
  }
  return owned;
}

/** See `Claims`. */
function claimsOf(finding: Finding, owned: Owned): readonly string[] {
  if (finding.kind === "ok") return finding.dags.map((dag) => dag.graph.dagId).sort();
  return owned.get(finding.path) ?? [];
}

/** Who defines the DAGs in question, once this batch is stored; and the files outside of the batch that do. */
async function readClaims(
  db: pg.PoolClient,
  left: ReadonlySet<string>,
  found: readonly Finding[],
  claimedBy: (finding: Finding) => readonly string[],
  /** What the files of the batch defined before. */
  known: ReadonlySet<string>,
): Promise<{ claims: Claims; others: readonly FileRow[] }> {
  const claims = new Claims();
  for (const finding of found) claims.add(finding.path, claimedBy(finding));
  const ids = new Set([...known, ...found.flatMap(claimedBy)]);
  const outside = (rows: readonly FileRow[]) => rows.filter((row) => !left.has(row.path));
  const others = outside(await readFilesOfDags(db, [...ids]));
  // Their other ids may be shared with yet other files: only with all claims known is it known that none is.
  const further =
    others.length === 0
      ? []
      : outside(
          await readFilesOfDags(
            db,
            others.flatMap((row) => row.dag_ids),
          ),
        );
  for (const row of [...others, ...further]) claims.add(row.path, row.dag_ids);
  return { claims, others };
}

/** Puts in force what these files define; answers the DAGs that are not as before. */
async function storeDags(db: pg.PoolClient, good: readonly Good[]): Promise<string[]> {
  const dags = good.flatMap((finding) => finding.dags.map((dag) => ({ finding, dag, id: dag.graph.dagId })));
  const now = await readDagsNow(
    db,
    dags.map(({ id }) => id),
    [],
  );
  const byId = new Map(now.map((row) => [row.dag_id, row]));

  const changed = dags
    .map(({ finding, dag, id }) => ({ finding, dag, id, hash: versionHash(dag.text, finding.bundle.hash) }))
    .filter(({ finding, id, hash }) => {
      const row = byId.get(id);
      return !(row?.active && row.hash === hash && row.file === finding.path);
    });
  if (good.length > 0) await insertBundles(db, good.map(bundleRow));
  if (changed.length === 0) return [];
  // It stays in force meanwhile: who applies another takes the lock of storing first.
  const limits = (await readLimits(db))?.spec ?? NO_LIMITS;
  await upsertDags(
    db,
    changed.map(({ finding, dag }) => dagRow(finding, dag, limits)),
  );
  await insertVersions(
    db,
    changed.map(({ finding, dag, hash }) => versionRow(finding, dag, hash)),
  );
  await putInForce(
    db,
    changed.map(({ id, hash }) => ({ dag_id: id, hash })),
  );
  await upsertDagAccounts(
    db,
    changed.map(({ dag }) => limitsOf(dag.graph)),
  );
  return changed.map(({ id }) => id);
}

/**
 * Makes those of the DAGs inactive that no file claims any more. While the file that owns one is there and in error
 * (it shares another id, say), the version in force stays. `settled` files are gone, or define all that they own.
 */
async function dropOrphans(
  db: pg.PoolClient,
  dagIds: ReadonlySet<string>,
  settled: ReadonlySet<string>,
  claims: Claims,
): Promise<string[]> {
  if (dagIds.size === 0) return [];
  const unclaimed = (await readDagsNow(db, [...dagIds], [])).filter(
    (row) => row.active && !claims.isClaimed(row.dag_id),
  );
  if (unclaimed.length === 0) return [];
  const owners = await readFilesByPath(
    db,
    unclaimed.map((row) => row.file).filter((path) => !settled.has(path)),
  );
  const inError = new Set(owners.map((row) => row.path));
  const orphans = unclaimed.filter((row) => !inError.has(row.file)).map((row) => row.dag_id);
  return orphans.length === 0 ? [] : await deactivateDags(db, orphans);
}

const bundleRow = ({ bundle }: Good) => ({ hash: bundle.hash, code: bundle.code, source_map: bundle.map });

function dagRow(finding: Good, { graph }: ImportedDag, limits: LimitsFile): DagRow {
  const place = placeOf(limits, { ...graph, caller: null });
  return {
    dag_id: graph.dagId,
    file: finding.path,
    timetable: graph.timetable,
    timetable_hash: sha256(canonicalJson(graph.timetable)),
    start_at: graph.startDate,
    end_at: graph.endDate,
    catchup: graph.catchup,
    max_active_runs: graph.maxActiveRuns,
    max_failed_runs: graph.maxFailedRuns ?? null,
    shard: shardOf(graph.dagId),
    owner: graph.owner,
    tags: graph.tags,
    description: graph.description,
    tenant: place.tenant,
    class: classNumber(place.class),
  };
}

const limitsOf = ({ dagId, maxActiveRuns, maxActiveTasks, tasks }: SerialGraph): DagLimits => ({
  dag_id: dagId,
  runs: maxActiveRuns,
  tasks: maxActiveTasks ?? null,
  by_task: Object.fromEntries(
    tasks.flatMap(({ id, maxActivePerDag: most }) => (most === undefined ? [] : [[id, most]])),
  ),
});

function versionRow(finding: Good, { graph }: ImportedDag, hash: string): VersionRow {
  const { bundle, lockHash, path } = finding;
  return { dag_id: graph.dagId, hash, graph, bundle_hash: bundle.hash, lock_hash: lockHash, file: path };
}

/** Postgres keeps no zero character in text. */
const storable = (error: FileError | null): FileError | null =>
  error === null ? null : (JSON.parse(storableJson(error)) as FileError);
