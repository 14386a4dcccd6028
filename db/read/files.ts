import type { Db } from "../connection.ts";
import type { ImportErrorRow } from "./import-errors.ts";

export interface FileRow {
  readonly path: string;
  readonly checked_at: Date;
  readonly stored_at: Date | null;
  readonly duration_ms: number;
  readonly queue_ms: number | null;
  readonly error: ImportErrorRow["error"] | null;
  readonly dag_ids: string[];
}

export interface FileFilter {
  /** Part of the path or of a DAG's id, in any case. */
  readonly search: string | null;
  /** null: all; else those with, or without, an error. */
  readonly withError: boolean | null;
}

const COLUMNS = "path, checked_at, stored_at, duration_ms, queue_ms, error, dag_ids";
const MATCHES = `
  ($1::text is null or path ilike $1 or exists (select from unnest(dag_ids) as d (id) where d.id ilike $1))
  and ($2::boolean is null or (error is not null) = $2)`;

const filterValues = (filter: FileFilter): unknown[] => [
  filter.search === null ? null : `%${filter.search.replaceAll(/[\\%_]/g, "\\$&")}%`,
  filter.withError,
];

/** DAG files by path, after `after`. */
export async function readFilePage(
  db: Db,
  filter: FileFilter,
  page: { after: string; limit: number },
): Promise<FileRow[]> {
  const { rows } = await db.query<FileRow>(
    `select ${COLUMNS} from app.dag_file where ${MATCHES} and path > $3 order by path limit $4`,
    [...filterValues(filter), page.after, page.limit],
  );
  return rows;
}

export async function countFiles(db: Db, filter: FileFilter): Promise<number> {
  const { rows } = await db.query<{ total: number }>(
    `select count(*)::int as total from app.dag_file where ${MATCHES}`,
    filterValues(filter),
  );
  return rows[0]!.total;
}

export async function readFile(db: Db, path: string): Promise<FileRow | null> {
  const { rows } = await db.query<FileRow>(`select ${COLUMNS} from app.dag_file where path = $1`, [path]);
  return rows[0] ?? null;
}
