import type { StoredValue } from "../core/body.ts";
import type { InputRef } from "../core/inputs.ts";
import type { TryState } from "../core/states.ts";
import type { Db } from "./connection.ts";
import { storableJson, withOutputText } from "./json.ts";
import type { TryKey } from "./runs.ts";

export interface StartedRow extends TryKey {
  readonly worker: string;
  /** ISO instant. */
  readonly at: string;
  /** By name: where each comes from. */
  readonly inputs: Readonly<Record<string, InputRef>>;
}

export interface EndedRow extends TryKey {
  readonly state: TryState;
  readonly at: string;
  readonly error: unknown;
  readonly output: unknown;
}

/** Of an instance: what people read beside its index, as it is or as the instances of other tasks have it. */
export type LabelRow = TryKey &
  ({ readonly label: string } | { readonly label: null; readonly same_as: readonly string[] });

/** One output; several of one name, in order, where an input is made of many. */
interface InputRow extends TryKey {
  readonly name: string;
  readonly output: unknown;
  /** Where the output is, when it is too large to stand here. */
  readonly stored: StoredValue | null;
}

/** A task that may follow: asked for at once when all of `after` have succeeded and it was never asked for. */
export interface NextRow {
  readonly run: number;
  readonly task_id: string;
  readonly after: readonly string[];
  readonly account: string;
  readonly slots: number;
  /** Left out: 1. */
  readonly cores?: number;
  readonly priority: number;
}

export interface Recorded {
  /** The outputs that tries which just started asked for. */
  readonly inputs: readonly InputRow[];
  /** Of the tasks that may follow, those that have their slots. */
  readonly grants: readonly { readonly run: number; readonly task_id: string }[];
  /** Requests wait for slots that came back: a pass of the allocator is wanted. */
  readonly waiting: boolean;
}

/**
 * Live records of all tries that started or ended since the last call, in one statement; slots of ended tries come
 * back. The run's own word (`settle`) repeats all of it, so the commit does not wait for the disk.
 */
export async function recordTries(
  db: Db,
  started: readonly StartedRow[],
  ended: readonly EndedRow[],
  next: readonly NextRow[] = [],
  labels: readonly LabelRow[] = [],
): Promise<Recorded> {
  const { rows } = await db.query<{
    inputs: [number, string, number, number, string, string | null, StoredValue | null][];
    grants: [number, string][];
    waiting: boolean;
  }>("select * from app.record_tries($1, $2, $3, $4)", [
    JSON.stringify(started),
    storableJson(withOutputText(ended)),
    JSON.stringify(next),
    JSON.stringify(labels),
  ]);
  const { inputs, grants, waiting } = rows[0]!;
  return {
    waiting,
    grants: grants.map(([run, task_id]) => ({ run, task_id })),
    inputs: inputs.map(([run, task_id, map_index, number, name, output, stored]) => ({
      run,
      task_id,
      map_index,
      try: number,
      name,
      output: output === null ? null : (JSON.parse(output) as unknown),
      stored,
    })),
  };
}

/** Keeps an output, or where it lies, before Temporal is told of its try; waits for the disk, unlike the live records. */
export async function storeOutput(
  db: Db,
  key: TryKey,
  output: unknown,
  stored: StoredValue | null = null,
): Promise<void> {
  await db.query(
    `insert into app.task_try as t (run, task_id, map_index, try, state, output, stored)
     values ($1, $2, $3, $4, 'running', $5, $6)
     on conflict on constraint task_try_pkey do update set output = excluded.output, stored = excluded.stored`,
    [
      key.run,
      key.task_id,
      key.map_index,
      key.try,
      output === null ? null : JSON.stringify(output),
      stored === null ? null : JSON.stringify(stored),
    ],
  );
}
