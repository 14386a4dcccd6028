import type { StoredValue } from "../../core/body.ts";
import type { TaskState, TryState } from "../../core/states.ts";
import type { Db } from "../connection.ts";
import { NOT_BEGUN, withReasons } from "./not-begun.ts";
import { WAITING_COLUMNS, type WaitingRow } from "./runs.ts";

/** A task, or mapped instance, of a run. */
export interface TaskKey {
  readonly run: number;
  readonly taskId: string;
  readonly mapIndex: number;
}

export interface TryRow {
  readonly try: number;
  readonly state: TryState;
  readonly worker: string | null;
  readonly queued_at: Date | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly error: { code: string; message: string; stack?: string } | null;
  readonly output: unknown;
  /** Where the output is, when it is too large to stand here. */
  readonly stored: StoredValue | null;
}

/** Why a try waited for its slots. */
export interface WaitedRow {
  readonly try: number;
  readonly reason: string;
  readonly since: Date;
  readonly until: Date;
}

const TRY_COLUMNS = "try, state, worker, queued_at, started_at, ended_at, error, output, stored";

/** All tries of a task in a run, first one first. */
export async function readTries(db: Db, key: TaskKey): Promise<TryRow[]> {
  const { rows } = await db.query<TryRow>(
    `select ${TRY_COLUMNS} from app.task_try where run = $1 and task_id = $2 and map_index = $3 order by try`,
    [key.run, key.taskId, key.mapIndex],
  );
  return rows;
}

export async function readTry(db: Db, key: TaskKey, number: number): Promise<TryRow | null> {
  const { rows } = await db.query<TryRow>(
    `select ${TRY_COLUMNS} from app.task_try where run = $1 and task_id = $2 and map_index = $3 and try = $4`,
    [key.run, key.taskId, key.mapIndex, number],
  );
  return rows[0] ?? null;
}

/** Of all tries of a task, the last spans first. */
export async function readWaited(db: Db, key: TaskKey, limit: number): Promise<WaitedRow[]> {
  const { rows } = await db.query<WaitedRow>(
    `select try, reason, since, until from app.waited
     where run = $1 and task_id = $2 and map_index = $3 order by try desc, since desc limit $4`,
    [key.run, key.taskId, key.mapIndex, limit],
  );
  return rows;
}

/** The state of a task in a run: its cell's, or `none` when only the run's version knows it; null: unknown task. */
export async function readTaskState(db: Db, key: TaskKey): Promise<TaskState | null> {
  const { rows } = await db.query<{ state: TaskState | null; known: boolean }>(
    `select c.state, v.graph->'tasks' @> jsonb_build_array(jsonb_build_object('id', $2::text)) as known
     from app.dag_run r
     left join app.cell c on c.run = r.run and c.task_id = $2 and c.map_index = $3
     left join app.dag_version v on v.version = r.version and c.state is null
     where r.run = $1`,
    [key.run, key.taskId, key.mapIndex],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return row.state ?? (row.known && key.mapIndex === -1 ? "none" : null);
}

/** A task's next try, when it has not been granted its slots, or no worker takes it up. */
export async function readTaskWaiting(db: Db, key: TaskKey): Promise<WaitingRow | null> {
  const { rows } = await db.query<WaitingRow>(
    `select ${WAITING_COLUMNS} from app.lease l
     where l.run = $1 and l.task_id = $2 and l.map_index = $3 and (l.granted_at is null or ${NOT_BEGUN})
     order by l.try desc limit 1`,
    [key.run, key.taskId, key.mapIndex],
  );
  return (await withReasons(db, rows))[0] ?? null;
}
