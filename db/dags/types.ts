import type { ClassNumber } from "../../core/limits.ts";

/** A DAG's row as far as a new version is compared with it. */
export interface DagNow {
  readonly dag_id: string;
  readonly file: string;
  readonly active: boolean;
  /** Hash of the version in force, or null. */
  readonly hash: string | null;
}

export interface DagRow {
  readonly dag_id: string;
  readonly file: string;
  readonly timetable: unknown;
  readonly timetable_hash: string;
  readonly start_at: string | null;
  readonly end_at: string | null;
  readonly catchup: boolean;
  readonly max_active_runs: number;
  readonly max_failed_runs: number | null;
  readonly shard: number;
  readonly owner: string;
  readonly tags: readonly string[];
  readonly description: string;
  /** By the limits file in force; null: none. */
  readonly tenant: string | null;
  readonly class: ClassNumber;
}

export interface VersionRow {
  readonly dag_id: string;
  readonly hash: string;
  readonly graph: unknown;
  readonly bundle_hash: string;
  readonly lock_hash: string | null;
  readonly file: string;
}

export interface BundleRow {
  readonly hash: string;
  readonly code: string;
  readonly source_map: string;
}

export interface FileRow {
  readonly path: string;
  readonly duration_ms: number;
  /** How long its last change waited for its import; null: it was imported for another reason. */
  readonly queue_ms: number | null;
  /** null: to be imported again at the next start, since what went wrong may not lie in the file. */
  readonly content_hash: string | null;
  readonly error: unknown;
  /** What it defines, or defined when it was last good. */
  readonly dag_ids: readonly string[];
}

/** What an import found in a file. */
export interface FileFound extends FileRow {
  /** False: what another file defines has changed its error, and it was not imported itself. */
  readonly imported: boolean;
  /** Whether it changed what its DAGs are. */
  readonly stored: boolean;
}
