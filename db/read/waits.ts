/** Waits as they are shown: lists of them, and why tasks wait. */
import { whyDeferred, type WaitFacts, type WaitKind } from "../../core/why-deferred.ts";
import type { Db } from "../connection.ts";
import type { EndedAs, WaitSpec } from "../waits.ts";
import { holding } from "./dags.ts";
import type { WaitingRow } from "./runs.ts";
import type { TaskKey } from "./tries.ts";

export interface WaitRow {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly wait: number;
  readonly kind: WaitKind;
  readonly queue: string;
  readonly spec: WaitSpec;
  readonly every_ms: number | null;
  readonly next_at: Date | null;
  /** The nearer of its own time-out and its try's. */
  readonly until: Date | null;
  readonly checks: number;
  readonly checked_at: Date | null;
  readonly check: "under way" | "overdue" | null;
  /** Null: it was ended ahead of its beginning. */
  readonly begun_at: Date | null;
  readonly ended_at: Date | null;
  readonly ended_as: EndedAs | "cancelled" | null;
  readonly ended_by: string | null;
}

/** A sensor's first check is made by its try; after so long without one it is overdue: workers look twice a second. */
const COLUMNS = `
  w.run::float8 as run, r.dag_id, r.run_id, w.task_id, w.map_index, w.try, w.wait, w.kind, w.queue, w.spec,
  w.every_ms::float8 as every_ms, w.next_at, least(w.expires_at, w.try_expires_at) as until,
  w.pokes + case when w.kind = 'sensor' then 1 else 0 end as checks,
  coalesce(w.poked_at, case when w.kind = 'sensor' then w.begun_at end) as checked_at,
  case when w.ended_at is not null or w.kind not in ('sensor', 'run') then null
       when w.claimed_until > app.now() then 'under way'
       when w.next_at < app.now() - interval '6 seconds' then 'overdue' end as check,
  w.begun_at, w.ended_at, w.ended_as, w.ended_by`;

/** Where a page of waits ends. */
export interface WaitPageKey {
  readonly run: number;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  readonly wait: number;
}

/** Below all. */
const START: WaitPageKey = { run: -1, taskId: "", mapIndex: -2, try: 0, wait: 0 };

/** Of one run, ended ones too, by task. */
export async function readRunWaits(
  db: Db,
  run: number,
  after: WaitPageKey | null,
  limit: number,
): Promise<WaitRow[]> {
  const { taskId, mapIndex, try: number, wait } = after ?? START;
  const { rows } = await db.query<WaitRow>(
    `select ${COLUMNS} from app.wait w join app.dag_run r on r.run = w.run
     where w.run = $1 and (w.task_id, w.map_index, w.try, w.wait) > ($2, $3, $4, $5)
     order by w.task_id, w.map_index, w.try, w.wait limit $6`,
    [run, taskId, mapIndex, number, wait, limit],
  );
  return rows;
}

/** Of a task in whichever try, the last ones first. */
export async function readTaskWaits(
  db: Db,
  { run, taskId, mapIndex }: TaskKey,
  limit: number,
): Promise<WaitRow[]> {
  const { rows } = await db.query<WaitRow>(
    `select ${COLUMNS} from app.wait w join app.dag_run r on r.run = w.run
     where w.run = $1 and w.task_id = $2 and w.map_index = $3 order by w.try desc, w.wait desc limit $4`,
    [run, taskId, mapIndex, limit],
  );
  return rows;
}

export interface WaitFilter {
  readonly dagId: string | null;
  readonly taskId: string | null;
  readonly kinds: readonly WaitKind[] | null;
  /** Part of the id of its DAG, run or task, in any case. */
  readonly search: string | null;
}

/** What waits now, over all runs, those of the oldest run first. */
export async function readOpenWaits(
  db: Db,
  { dagId, taskId, kinds, search }: WaitFilter,
  after: WaitPageKey | null,
  limit: number,
): Promise<WaitRow[]> {
  const key = after ?? START;
  const { rows } = await db.query<WaitRow>(
    `select ${COLUMNS} from app.wait w join app.dag_run r on r.run = w.run
     where w.ended_at is null and w.begun_at is not null
       and ($1::text is null or r.dag_id = $1) and ($2::text is null or w.task_id = $2)
       and ($3::text[] is null or w.kind = any ($3))
       and ($4::text is null or r.dag_id ilike $4 or r.run_id ilike $4 or w.task_id ilike $4)
       and (w.run, w.task_id, w.map_index, w.try, w.wait) > ($5, $6, $7, $8, $9)
     order by w.run, w.task_id, w.map_index, w.try, w.wait limit $10`,
    [dagId, taskId, kinds, holding(search), key.run, key.taskId, key.mapIndex, key.try, key.wait, limit],
  );
  return rows;
}

/** What it waits for, in words. */
export const reasonOf = (row: WaitRow): string => whyDeferred(factsOf(row));

/** The other run that is waited for, or the task in it. */
export function otherOf({ spec }: WaitRow): WaitFacts["other"] {
  const { dag_id: dagId, run_id: runId, task_id: taskId = null } = spec;
  return dagId === undefined || runId === undefined ? null : { dagId, runId, taskId };
}

function factsOf(row: WaitRow): WaitFacts {
  const { kind, next_at, until, checks, queue, check, ended_at } = row;
  return {
    kind,
    other: otherOf(row),
    nextAt: next_at?.getTime() ?? null,
    until: until?.getTime() ?? null,
    checks,
    queue,
    check,
    isOver: ended_at !== null,
  };
}

/** Why tasks of a run are deferred, oldest first: also those whose waits have ended unheard by their run. */
export async function readDeferred(db: Db, run: number, limit: number): Promise<WaitingRow[]> {
  return await deferredBy(db, "", [run], limit);
}

export async function readTaskDeferred(db: Db, key: TaskKey): Promise<WaitingRow | null> {
  const own = "and w.task_id = $3 and w.map_index = $4";
  return (await deferredBy(db, own, [key.run, key.taskId, key.mapIndex], 1))[0] ?? null;
}

async function deferredBy(
  db: Db,
  more: string,
  [run, ...values]: readonly [number, ...unknown[]],
  limit: number,
): Promise<WaitingRow[]> {
  const { rows } = await db.query<WaitRow>(
    `select ${COLUMNS} from app.wait w join app.dag_run r on r.run = w.run
     join app.cell c on c.run = w.run and c.task_id = w.task_id and c.map_index = w.map_index and c.try = w.try
     where w.run = $1 and w.begun_at is not null and not w.known and c.state = 'deferred' ${more}
     order by w.begun_at, w.task_id, w.map_index limit $2`,
    [run, limit, ...values],
  );
  return rows.map((row) => ({
    run: row.run,
    task_id: row.task_id,
    map_index: row.map_index,
    try: row.try,
    account: "",
    slots: 0,
    not_begun: false,
    reason: reasonOf(row),
    since: row.begun_at!,
  }));
}
