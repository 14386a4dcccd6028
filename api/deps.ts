import type { MeridianClient } from "../client/types.ts";
import type { Db, Pool } from "../db/connection.ts";
import type { LogKey } from "../platform/logs/store.ts";
import type { ObjectStore } from "../platform/objects/store.ts";

/** A piece of a log as text from a byte offset on. `done`: nothing more is there now. */
export interface LogReader {
  read(key: LogKey, offset: number): Promise<{ text: string; nextOffset: number; done: boolean }>;
}

export interface TemporalWeb {
  readonly url: string;
  readonly namespace: string;
}

/** All that the API is made of. */
export interface AppDeps {
  readonly db: Pool;
  /** A replica for what is only shown; without it, `db`. */
  readonly reader?: Db;
  readonly client: MeridianClient;
  readonly logs: LogReader;
  /** Of large outputs. */
  readonly objects: Pick<ObjectStore, "open">;
  readonly temporalWeb: TemporalWeb | null;
  /** Host names it answers to, beside localhost, 127.0.0.1 and ::1. */
  readonly allowedHosts: readonly string[];
  /** Where others reach it, for addresses of waits; without it, where they are asked for. */
  readonly publicUrl?: string | undefined;
  /** The built page, or null. */
  readonly webFolder: string | null;
  readonly version: string;
  /** Ends the streams of events, whose readers would keep the server from closing. */
  readonly closing?: AbortSignal;
  /** Where unknown errors go. */
  readonly log?: (fields: Record<string, unknown>, message: string) => void;
}

/** What middleware leaves for handlers. */
export interface ApiEnv {
  Variables: {
    who: string;
    /** The request's idempotency key, of this caller, and when it was first seen, epoch ms. */
    claim: { readonly key: string; readonly at: number } | undefined;
  };
}
