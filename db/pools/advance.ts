import type { TaskState, TryState } from "../../core/states.ts";
import type { Db } from "../connection.ts";
import { storableJson, withOutputText } from "../json.ts";
import type { NewWait } from "../waits.ts";

/** A decision of a run, as `app.settle` takes it. */
export interface RecordRow {
  readonly run: number;
  readonly seq: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly state: TaskState;
  /** How the try ended, when one did. */
  readonly try_state: TryState | null;
  readonly error: unknown;
  readonly output: unknown;
  /** Its task is no more: the cell stays, as removed. */
  readonly gone?: true;
}

/** A try that asks for its slots. */
export interface RequestRow {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  /** It goes on behind that wait of its; left out: it begins. */
  readonly wait?: number;
  readonly account: string;
  readonly slots: number;
  /** Left out: 1. */
  readonly cores?: number;
  readonly priority: number;
}

export interface GrantRow {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly wait: number;
}

export interface Advanced {
  /** A pass of the allocator is wanted (`db/pools/pass.ts`). */
  readonly undecided: boolean;
  readonly grants: readonly GrantRow[];
  /** A wait that was to begin has ended already: its run is to be told. */
  readonly woken: boolean;
}

/**
 * Settles, begins to wait and asks for any number of runs in one round trip; answers every grant of these runs that they were not told of.
 * Idempotent: a repeat answers the same grants.
 */
export async function advance(
  db: Db,
  runs: readonly number[],
  records: readonly RecordRow[],
  requests: readonly RequestRow[],
  waits: readonly NewWait[] = [],
): Promise<Advanced> {
  const { rows } = await db.query<{
    undecided: boolean;
    grants: [number, string, number, number, number][];
    woken: boolean;
  }>("select * from app.advance($1, $2, $3, $4)", [
    runs,
    storableJson(withOutputText(records)),
    JSON.stringify(requests),
    storableJson(waits),
  ]);
  const row = rows[0]!;
  return {
    undecided: row.undecided,
    woken: row.woken,
    grants: row.grants.map(([run, task_id, map_index, number, wait]) => ({
      run,
      task_id,
      map_index,
      try: number,
      wait,
    })),
  };
}
