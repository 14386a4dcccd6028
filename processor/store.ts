import type pg from "pg";
import { canonicalJson } from "../core/canonical.ts";
import { runsAccount } from "../core/ids.ts";
import { transaction } from "../db/connection.ts";
import { deactivateDags } from "../db/dags/deactivate-dags.ts";
import { deleteFiles } from "../db/dags/delete-files.ts";
import { insertBundles } from "../db/dags/insert-bundles.ts";
import { storableJson } from "../db/json.ts";
import { insertVersions } from "../db/dags/insert-versions.ts";
import { lockStoring } from "../db/dags/lock-storing.ts";
import { putInForce } from "../db/dags/put-in-force.ts";
import { readDagsNow } from "../db/dags/read-dags.ts";
import { readFilesByPath, readFilesOfDags } from "../db/dags/read-files.ts";
import type { DagRow, FileRow, VersionRow } from "../db/dags/types.ts";
import { upsertDags } from "../db/dags/upsert-dags.ts";
import { upsertFiles } from "../db/dags/upsert-files.ts";
import { upsertRunAccounts } from "../db/dags/upsert-run-accounts.ts";
import { Claims, isDuplicate } from "./claims.ts";
import { sha256, shardOf, versionHash } from "./hashes.ts";
import type { Bundle, FileError, ImportedDag } from "./types.ts";

/** What was found in one DAG file. Paths are relative to the DAG folder. */
export type Finding = { readonly path: string; readonly durationMs: number } & (
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

export interface Stored {
  /** DAGs that are new, changed or active again. */
  readonly changed: readonly string[];
  readonly deactivated: readonly string[];
  /** Files that share an id with another. */
  readonly conflicts: ReadonlyMap<string, FileError>;
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
): Promise<Stored> {
  return await transaction(pool, async (db) => {
    await lockStoring(db);
    const paths = new Set([...found.map((finding) => finding.path), ...gone]);
    const before = new Map((await readFilesByPath(db, [...paths])).map((row) => [row.path, row]));
    const { claims, others } = await readClaims(db, new Set([...paths, ...leaving]), found, before);

    const conflicts = new Map<string, FileError>();
    const rows: FileRow[] = [];
    const good: Good[] = [];
    for (const finding of found) {
      const dagIds = claimedBy(finding, before);
      const conflict = finding.kind === "ok" ? claims.conflictOf(dagIds) : null;
      if (conflict !== null) conflicts.set(finding.path, conflict);
      const error = finding.kind === "failed" ? finding.error : conflict;
      if (finding.kind === "ok" && error === null) good.push(finding);
      rows.push({
        path: finding.path,
        duration_ms: finding.durationMs,
        content_hash: finding.kind === "ok" && error === null ? finding.contentHash : null,
        error: storable(error),
        dag_ids: dagIds,
      });
    }
    const recheck: string[] = [];
    for (const other of others) {
      const conflict = claims.conflictOf(other.dag_ids);
      if (conflict === null && isDuplicate(other)) recheck.push(other.path);
      if (conflict === null || (other.error !== null && !isDuplicate(other))) continue;
      conflicts.set(other.path, conflict);
      rows.push({ ...other, content_hash: null, error: conflict });
    }

    const { changed, deactivated } = await storeDags(db, good, gone, before, claims);
    await upsertFiles(db, rows);
    if (gone.length > 0) await deleteFiles(db, gone);
    return { changed, deactivated, conflicts, recheck };
  });
}

type BeforeRows = ReadonlyMap<string, FileRow>;

/** A broken file still claims what it defined when it was last good. */
function claimedBy(finding: Finding, before: BeforeRows): readonly string[] {
  if (finding.kind === "ok") return finding.dags.map((dag) => dag.graph.dagId).sort();
  return before.get(finding.path)?.dag_ids ?? [];
}

/** Who defines the DAGs in question, once this batch is stored; and the files outside of the batch that do. */
async function readClaims(
  db: pg.PoolClient,
  left: ReadonlySet<string>,
  found: readonly Finding[],
  before: BeforeRows,
): Promise<{ claims: Claims; others: readonly FileRow[] }> {
  const claims = new Claims();
  const ids = new Set([...before.values()].flatMap((row) => row.dag_ids));
  for (const finding of found) {
    const dagIds = claimedBy(finding, before);
    claims.add(finding.path, dagIds);
    for (const id of dagIds) ids.add(id);
  }
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

async function storeDags(
  db: pg.PoolClient,
  good: readonly Good[],
  gone: readonly string[],
  before: BeforeRows,
  claims: Claims,
): Promise<{ changed: string[]; deactivated: string[] }> {
  const dags = good.flatMap((finding) => finding.dags.map((dag) => ({ finding, dag, id: dag.graph.dagId })));
  const defined = new Set(dags.map(({ id }) => id));
  const lastIds = gone.flatMap((path) => before.get(path)?.dag_ids ?? []);
  const settled = [...good.map((finding) => finding.path), ...gone];
  const now = await readDagsNow(db, [...defined, ...lastIds], settled);
  const byId = new Map(now.map((row) => [row.dag_id, row]));

  const changed = dags
    .map(({ finding, dag, id }) => ({ finding, dag, id, hash: versionHash(dag.text, finding.bundle.hash) }))
    .filter(({ finding, id, hash }) => {
      const row = byId.get(id);
      return !(row?.active && row.hash === hash && row.file === finding.path);
    });
  if (good.length > 0) await insertBundles(db, good.map(bundleRow));
  if (changed.length > 0) {
    await upsertDags(
      db,
      changed.map(({ finding, dag }) => dagRow(finding, dag)),
    );
    await insertVersions(
      db,
      changed.map(({ finding, dag, hash }) => versionRow(finding, dag, hash)),
    );
    await putInForce(
      db,
      changed.map(({ id, hash }) => ({ dag_id: id, hash })),
    );
    await upsertRunAccounts(
      db,
      changed.map(({ dag, id }) => ({ key: runsAccount(id), slots: dag.graph.maxActiveRuns })),
    );
  }
  const orphans = now.filter(
    (row) => row.active && !defined.has(row.dag_id) && !claims.isClaimed(row.dag_id),
  );
  const deactivated =
    orphans.length === 0
      ? []
      : await deactivateDags(
          db,
          orphans.map((row) => row.dag_id),
        );
  return { changed: changed.map(({ id }) => id), deactivated };
}

const bundleRow = ({ bundle }: Good) => ({ hash: bundle.hash, code: bundle.code, source_map: bundle.map });

function dagRow(finding: Good, { graph }: ImportedDag): DagRow {
  return {
    dag_id: graph.dagId,
    file: finding.path,
    timetable: graph.timetable,
    timetable_hash: sha256(canonicalJson(graph.timetable)),
    start_at: graph.startDate,
    end_at: graph.endDate,
    catchup: graph.catchup,
    max_active_runs: graph.maxActiveRuns,
    shard: shardOf(graph.dagId),
    owner: graph.owner,
    tags: graph.tags,
    description: graph.description,
  };
}

function versionRow(finding: Good, { graph }: ImportedDag, hash: string): VersionRow {
  const { bundle, lockHash, path } = finding;
  return { dag_id: graph.dagId, hash, graph, bundle_hash: bundle.hash, lock_hash: lockHash, file: path };
}

/** Postgres keeps no zero character in text. */
const storable = (error: FileError | null): FileError | null =>
  error === null ? null : (JSON.parse(storableJson(error)) as FileError);
