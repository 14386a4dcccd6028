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

  /** The first id of the file's that another file defines too, as an error; null when there is none. */
  conflictOf(dagIds: readonly string[], lineOf?: (dagId: string) => number | undefined): FileError | null {
    for (const id of dagIds) {
      const files = [...(this.#files.get(id) ?? [])].sort();
      if (files.length < 2) continue;
      const line = lineOf?.(id);
      return {
        code: DUPLICATE_DAG,
        ...(line !== undefined && { line }),
        message:
          `dag "${id}" is defined by ${files.join(" and ")}: an id belongs to one file; rename or remove all but one. ` +
          "Until then the version in force stays.",
      };
    }
    return null;
  }
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
