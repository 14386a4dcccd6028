/** What passes between the processor and a child that imports bundles, over the IPC channel. */

export interface ImportRequest {
  readonly id: number;
  /** Of the bundle. */
  readonly path: string;
  readonly how: ImportHow;
}

export interface ImportHow {
  /** Holds the file to what its packages do as well: for a child that imports nothing else. */
  readonly strict: boolean;
  /** With a clock more than a year ahead: DAGs that come out otherwise depend on it. */
  readonly shifted: boolean;
}

/** Something that a file did while it was imported, and that a DAG file must not. */
export interface ImpureCall {
  readonly kind: "clock" | "random" | "network";
  /** As the author would write it: `new Date()`. */
  readonly call: string;
  readonly stack: string;
}

/** An error as thrown, before its places are mapped to the author's source. */
export interface RawError {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
}

/** `spent`: the child is not as it began, so nothing further is to be imported in it. */
export type ImportReply =
  | { readonly kind: "ready" }
  | {
      readonly kind: "ok";
      readonly id: number;
      readonly spent: boolean;
      readonly graphs: readonly string[];
      readonly impure: readonly ImpureCall[];
      readonly durationMs: number;
    }
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly spent: boolean;
      readonly error: RawError;
      readonly durationMs: number;
    }
  /** Thrown outside of any import that is awaited; the child ends. */
  | { readonly kind: "crashed"; readonly error: RawError };
