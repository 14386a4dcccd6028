import type { SerialGraph } from "../../core/graph.ts";
import type { Db } from "../connection.ts";

export interface VersionRow {
  readonly number: number;
  readonly hash: string;
  readonly file: string;
  readonly created_at: Date;
  /** Whether new runs take it: the newest does not where a file went back to what it was. */
  readonly current: boolean;
}

export interface VersionSourceRow extends VersionRow {
  readonly graph: SerialGraph;
  readonly bundle_hash: string;
  /** With the sources as they were saved last with this code. */
  readonly source_map: string | null;
  readonly sources_at: Date;
}

/** Versions of a DAG, newest first; null when there is no such DAG. `before`: older than this number. */
export async function readVersionPage(
  db: Db,
  dagId: string,
  page: { before: number | null; limit: number },
): Promise<VersionRow[] | null> {
  const { rows } = await db.query<VersionRow & { number: number | null }>(
    `select v.number, v.hash, v.file, v.created_at, v.version is not distinct from d.version as current
       from app.dag d
       left join lateral (
         select * from app.dag_version x
          where x.dag_id = d.dag_id and ($2::integer is null or x.number < $2)
          order by x.number desc limit $3) v on true
      where d.dag_id = $1
      order by v.number desc`,
    [dagId, page.before, page.limit],
  );
  return rows.length === 0 ? null : rows.filter((row) => row.number !== null);
}

/** These versions of a DAG with their code, as far as there are. */
export async function readVersionSources(
  db: Db,
  dagId: string,
  numbers: readonly number[],
): Promise<VersionSourceRow[]> {
  const { rows } = await db.query<VersionSourceRow>(
    `select v.number, v.hash, v.file, v.created_at, v.version is not distinct from d.version as current, v.graph,
            v.bundle_hash, b.source_map, b.sources_at
       from app.dag_version v
       join app.dag d using (dag_id)
       join app.bundle b on b.hash = v.bundle_hash
      where v.dag_id = $1 and v.number = any ($2::integer[])`,
    [dagId, numbers],
  );
  return rows;
}

export interface InForceRow {
  readonly number: number;
  /** Of the version in force before; null: it is the first. */
  readonly number_before: number | null;
  /** False: the DAG was stored last with the version it had already. */
  readonly is_fresh: boolean;
}

/** The version that new runs of a DAG take. */
export async function readInForce(db: Db, dagId: string): Promise<InForceRow | null> {
  const { rows } = await db.query<InForceRow>(
    `select v.number, b.number as number_before, d.version_since >= d.updated_at as is_fresh
       from app.dag d
       join app.dag_version v on v.version = d.version
       left join app.dag_version b on b.version = d.version_before
      where d.dag_id = $1`,
    [dagId],
  );
  return rows[0] ?? null;
}
