import type { SerialGraph } from "../core/graph.ts";

/** Why a DAG file cannot be used; stored in `dag_file.error`. Places are in the author's own source. */
export interface FileError {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
  /** Relative to the DAG folder. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** One DAG file as a single ES module. */
export interface Bundle {
  /** sha256 of `code`. */
  readonly hash: string;
  readonly code: string;
  readonly map: string;
  /** Absolute paths of the file and all of the author's files it imports. */
  readonly inputs: readonly string[];
}

/** A graph with its canonical text, over which the version hash goes. */
export interface ImportedDag {
  readonly graph: SerialGraph;
  readonly text: string;
}

/** Bounds of one file's import. */
export interface ImportLimits {
  readonly timeoutMs: number;
  /** JavaScript heap of the child; its resident memory may be twice as much. */
  readonly memoryMb: number;
  /** What a file may print while it is imported. */
  readonly outputBytes: number;
  /** Children at once for files that answer promptly; as many again for those that do not. */
  readonly children: number;
  /** Files one child takes before it is replaced. With 1, a file is held to what its packages do at import as well. */
  readonly filesPerChild: number;
  /** A file that takes longer is tried again in a child of its own, beside the others, with the whole `timeoutMs`. */
  readonly promptMs: number;
}

export const DEFAULT_LIMITS: ImportLimits = {
  timeoutMs: 60_000,
  memoryMb: 512,
  outputBytes: 10_000_000,
  children: 2,
  filesPerChild: 20,
  promptMs: 5_000,
};
