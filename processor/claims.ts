import type { FileRow } from "../db/dags/types.ts";
import type { FileError } from "./types.ts";

/** `code` of the error on every file that defines an id which another defines too. */
const DUPLICATE_DAG = "duplicate_dag";

/** Which files define which DAG (K60). */
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
  conflictOf(dagIds: readonly string[]): FileError | null {
    for (const id of dagIds) {
      const files = [...(this.#files.get(id) ?? [])].sort();
      if (files.length < 2) continue;
      return {
        code: DUPLICATE_DAG,
        message:
          `dag "${id}" is defined by ${files.join(" and ")}: an id belongs to one file; rename or remove all but one. ` +
          "Until then the version in force stays.",
      };
    }
    return null;
  }
}

/** Whether the file's stored error says that it shares an id. */
export const isDuplicate = (row: FileRow): boolean => (row.error as FileError | null)?.code === DUPLICATE_DAG;
