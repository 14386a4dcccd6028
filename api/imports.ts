import { createRoute } from "@hono/zod-openapi";
import { readImportErrors, type ImportErrorRow } from "../db/read/import-errors.ts";
import { ImportErrorList, type ImportError } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes } from "./requests.ts";
import { iso, json } from "./shape.ts";

const listErrors = createRoute({
  method: "get",
  path: "/import-errors",
  summary: "DAG files that could not be imported; their last good version still runs",
  responses: { 200: json(ImportErrorList, "The files, by path") },
});

export const importRoutes = (deps: AppDeps) =>
  newRoutes().openapi(listErrors, async (c) => {
    const rows = await readImportErrors(deps.reader ?? deps.db);
    return c.json({ errors: rows.map(shapeImportError) }, 200);
  });

export const shapeImportError = (row: ImportErrorRow): ImportError => ({
  file: row.path,
  code: row.error.code,
  message: row.error.message,
  stack: row.error.stack ?? null,
  line: row.error.line ?? null,
  place:
    row.error.line === undefined
      ? null
      : { file: row.error.file ?? row.path, line: row.error.line, column: row.error.column ?? null },
  checkedAt: iso(row.checked_at),
  dagIds: row.dag_ids,
});
