import type { SerialGraph } from "../../core/graph.ts";
import type { Db } from "../connection.ts";

export interface VersionRow {
  readonly number: number;
  readonly hash: string;
  readonly file: string;
  readonly created_at: Date;
}

export interface VersionSourceRow extends VersionRow {
  readonly graph: SerialGraph;
  readonly bundle_hash: string;
  /** With the sources as they were saved last with this code. */
  readonly source_map: string | null;
}

/** Versions of a DAG, newest first; null when there is no such DAG. `before`: older than this number. */
export async function readVersionPage(
  db: Db,
  dagId: string,
  page: { before: number | null; limit: number },
): Promise<VersionRow[] | null> {
  const { rows } = await db.query<VersionRow & { number: number | null }>(
    `select v.number, v.hash, v.file, v.created_at
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
    `select v.number, v.hash, v.file, v.created_at, v.graph, v.bundle_hash, b.source_map
       from app.dag_version v join app.bundle b on b.hash = v.bundle_hash
      where v.dag_id = $1 and v.number = any ($2::integer[])`,
    [dagId, numbers],
  );
  return rows;
}
