import type { FileRow } from "../db/dags/types.ts";
import type { FileError } from "./types.ts";

/** `code` of the error on every file that defines an id which another defines too. */
const DUPLICATE_DAG = "duplicate_dag";

/**
 * Which files define which DAG (K60). A file that loads claims what it defines, also while it shares an id; one that
 * does not load claims what it owns: the DAGs whose version in force came from it.
 */
export class Claims {
  #files = new Map<string, Set<string>>();

  add(path: string, dagIds: readonly string[]): void {
    for (const id of dagIds) {
      const files = this.#files.get(id) ?? new Set();
      this.#files.set(id, files.add(path));
    }
  }

  isClaimed(dagId: string): boolean {
    return this.#files.has(dagId);
  }

  /** The first of the ids that several files define, and these; null when there is none. */
  sharedOf(dagIds: readonly string[]): { dagId: string; files: readonly string[] } | null {
    for (const dagId of dagIds) {
      const files = [...(this.#files.get(dagId) ?? [])].sort();
      if (files.length > 1) return { dagId, files };
    }
    return null;
  }

  /** The first id of the file's that another file defines too, as an error; null when there is none. */
  conflictOf(dagIds: readonly string[], lineOf?: LineOfId): FileError | null {
    const shared = this.sharedOf(dagIds);
    if (shared === null) return null;
    const error = duplicateError(shared.dagId, shared.files, lineOf);
    return { ...error, message: `${error.message}. Until then the version in force stays.` };
  }
}

type LineOfId = (dagId: string) => number | undefined;

/** That these files, as they are named here, share an id. */
export function duplicateError(dagId: string, files: readonly string[], lineOf?: LineOfId): FileError {
  const line = lineOf?.(dagId);
  return {
    code: DUPLICATE_DAG,
    ...(line !== undefined && { line }),
    message:
      `dag "${dagId}" is defined by ${files.join(" and ")}: an id belongs to one file, and a file that imports another ` +
      "defines what that one does; rename or remove all but one",
  };
}

/**
 * Whether an error says that the file shares an id with another. Two DAGs of one id in one file have the same code, but
 * that was thrown, so it has a stack.
 */
export const isShared = (error: FileError | null): boolean =>
  error?.code === DUPLICATE_DAG && error.stack === undefined;

export const isDuplicate = (row: FileRow): boolean => isShared(row.error as FileError | null);

/** Of all files, those whose stored error says that they share an id which by now they have for themselves. */
export function outdatedDuplicates(rows: readonly FileRow[]): ReadonlySet<string> {
  const claims = new Claims();
  for (const row of rows) claims.add(row.path, row.dag_ids);
  return new Set(
    rows.filter((row) => isDuplicate(row) && claims.conflictOf(row.dag_ids) === null).map((row) => row.path),
  );
}
