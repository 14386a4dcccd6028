/** What passes between the processor and a child that imports bundles, over the IPC channel. */

export interface ImportRequest {
  readonly id: number;
  /** Of the bundle. */
  readonly path: string;
}

/** An error as thrown, before its places are mapped to the author's source. */
export interface RawError {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
}

export type ImportReply =
  | { readonly kind: "ready" }
  | {
      readonly kind: "ok";
      readonly id: number;
      readonly graphs: readonly string[];
      readonly durationMs: number;
    }
  | { readonly kind: "failed"; readonly id: number; readonly error: RawError; readonly durationMs: number }
  /** Thrown outside of any import that is awaited; the child ends. */
  | { readonly kind: "crashed"; readonly error: RawError };
