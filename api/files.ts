import { createRoute } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { countFiles, readFile, readFilePage, type FileRow } from "../db/read/files.ts";
import { DagFile, DagFileList, type DagWarning } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { shapeImportError } from "./imports.ts";
import { FilePath, FilesQuery, newRoutes } from "./requests.ts";
import { cutPage, iso, isoOrNull, json } from "./shape.ts";
import { fileWarnings, readWarnings } from "./warnings.ts";

const listFiles = createRoute({
  method: "get",
  path: "/files",
  summary: "Files of the DAG folder as they were last imported, by path",
  request: { query: FilesQuery },
  responses: { 200: json(DagFileList, "A page of files") },
});
const getFile = createRoute({
  method: "get",
  path: "/files/{file}",
  summary: "A file of the DAG folder",
  request: { params: FilePath },
  responses: { 200: json(DagFile, "The file") },
});

export const fileRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;
  const shape = async (rows: readonly FileRow[]): Promise<DagFile[]> => {
    const warnings = await readWarnings(
      db,
      rows.flatMap((row) => row.dag_ids),
    );
    return rows.map((row) => shapeFile(row, warnings));
  };
  return newRoutes()
    .openapi(listFiles, async (c) => {
      const query = c.req.valid("query");
      const filter = { search: query.search ?? null, withError: query.withError ?? null };
      const [rows, total] = await Promise.all([
        readFilePage(db, filter, { after: query.after ?? "", limit: query.limit + 1 }),
        countFiles(db, filter),
      ]);
      const [page, after] = cutPage(rows, query.limit, (row) => row.path);
      return c.json({ files: await shape(page), total, after }, 200);
    })
    .openapi(getFile, async (c) => {
      const { file } = c.req.valid("param");
      const row = await readFile(db, file);
      if (row === null) {
        throw new NotFound(
          "no_file",
          `no DAG file ${JSON.stringify(file)} is known; expected a path below the DAG folder, as GET /files lists it`,
        );
      }
      return c.json((await shape([row]))[0]!, 200);
    });
};

function shapeFile(row: FileRow, warnings: ReadonlyMap<string, DagWarning[]>): DagFile {
  const { path, error } = row;
  return {
    file: path,
    dagIds: row.dag_ids,
    checkedAt: iso(row.checked_at),
    storedAt: isoOrNull(row.stored_at),
    importMs: row.duration_ms,
    queueMs: row.queue_ms,
    error: error === null ? null : shapeImportError({ ...row, error }),
    warnings: [
      ...fileWarnings(path, row.duration_ms),
      ...row.dag_ids.flatMap((dagId) => warnings.get(dagId) ?? []),
    ],
  };
}
