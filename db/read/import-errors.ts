import type { Db } from "../connection.ts";

export interface ImportErrorRow {
  readonly path: string;
  readonly error: {
    code: string;
    message: string;
    stack?: string;
    file?: string;
    line?: number;
    column?: number;
  };
  readonly checked_at: Date;
  readonly dag_ids: string[];
}

/** Files that could not be imported, by path. */
export async function readImportErrors(db: Db): Promise<ImportErrorRow[]> {
  const { rows } = await db.query<ImportErrorRow>(
    "select path, error, checked_at, dag_ids from app.dag_file where error is not null order by path limit 1000",
  );
  return rows;
}
