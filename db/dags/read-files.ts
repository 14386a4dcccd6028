import type { Db } from "../connection.ts";
import type { FileRow } from "./types.ts";

const COLUMNS = "path, duration_ms, queue_ms, content_hash, error, dag_ids";

/** Every DAG file known. */
export async function readFiles(db: Db): Promise<FileRow[]> {
  const { rows } = await db.query<FileRow>(`select ${COLUMNS} from app.dag_file`);
  return rows;
}

/** The named files, as far as they are known. */
export async function readFilesByPath(db: Db, paths: readonly string[]): Promise<FileRow[]> {
  const { rows } = await db.query<FileRow>(`select ${COLUMNS} from app.dag_file where path = any ($1)`, [
    paths,
  ]);
  return rows;
}

/** Files that define any of these DAGs. */
export async function readFilesOfDags(db: Db, dagIds: readonly string[]): Promise<FileRow[]> {
  const { rows } = await db.query<FileRow>(`select ${COLUMNS} from app.dag_file where dag_ids && $1`, [
    dagIds,
  ]);
  return rows;
}
