/** Rows of waits (`app.wait`): begun by runs and workers, ended once by whoever comes first. */
import type { BodyError, StoredValue } from "../core/body.ts";
import type { AskedOfOutput } from "../core/decision.ts";
import type { InputRef } from "../core/inputs.ts";
import type { Measured } from "../core/mapping.ts";
import type { RunState, TaskState } from "../core/states.ts";
import type { WaitKind } from "../core/why-deferred.ts";
import type { Db } from "./connection.ts";
import { storableJson } from "./json.ts";
import type { RunFactsRow, TryKey } from "./runs.ts";

export interface WaitKey extends TryKey {
  /** Number of the wait within its try, from 1. */
  readonly wait: number;
}

/** What a kind of wait needs. */
export interface WaitSpec {
  /** Of a sensor: where its inputs come from. */
  readonly refs?: Readonly<Record<string, InputRef>>;
  /** What is to be told of its output. */
  readonly asked?: AskedOfOutput;
  /** Of a wait for another run. */
  readonly dag_id?: string;
  readonly run_id?: string;
  readonly task_id?: string | null;
  readonly logical_at?: string;
}

export interface NewWait extends WaitKey {
  readonly kind: WaitKind;
  /** Whose workers check it; left out: those of queue "default". */
  readonly queue?: string;
  /** Its body goes on in the same try. */
  readonly resumes: boolean;
  readonly spec: WaitSpec;
  /** JSON of what the body keeps over it. */
  readonly state_text?: string | null;
  readonly every_ms?: number | null;
  /** The next look, or a time: after so many ms, or at an ISO instant. */
  readonly next_in_ms?: number;
  readonly next_at?: string;
  /** Its time-out, likewise. */
  readonly expires_in_ms?: number;
  readonly expires_at?: string;
  readonly try_expires_at?: string;
  /** It ends at once: it cannot be. */
  readonly ended_as?: "failed";
  readonly detail?: WaitDetail;
  /** Of an instance: what people read beside its index, as it is or as the instances of these tasks have it. */
  readonly label?: string;
  readonly same_as?: readonly string[];
}

/** Of a wait's end. */
export interface WaitDetail {
  readonly measured?: Measured;
  readonly message?: string;
  readonly error?: BodyError;
}

/** True: one of them has ended already, so its run is to be told. Idempotent. */
export async function beginWaits(db: Db, waits: readonly NewWait[]): Promise<boolean> {
  const { rows } = await db.query<{ ended: boolean }>("select app.begin_waits($1) as ended", [
    storableJson(waits),
  ]);
  return rows[0]!.ended;
}

export type EndedAs = "success" | "expired" | "timed_out" | "skipped" | "failed";

export interface WaitEnding extends WaitKey {
  readonly ended_as: EndedAs;
  readonly ended_by: string | null;
  /** JSON. */
  readonly payload?: string | null;
  readonly detail?: WaitDetail | null;
}

/** Those that this call has ended: others had ended before. */
export async function endWaits(db: Db, endings: readonly WaitEnding[]): Promise<readonly WaitKey[]> {
  if (endings.length === 0) return [];
  const { rows } = await db.query<WaitKey>("select * from app.end_waits($1)", [storableJson(endings)]);
  return rows;
}

/** Ends what is over by the clock, and waits for runs that have ended; true: some have, so their runs are to be told. */
export async function lookAtWaits(db: Db, limit: number): Promise<boolean> {
  const { rows } = await db.query<{ ended: boolean }>("select app.look_at_waits($1) as ended", [limit]);
  return rows[0]!.ended;
}

export interface PokeRow extends WaitKey, RunFactsRow {
  readonly spec: WaitSpec;
  readonly expires_at: Date | null;
  readonly try_expires_at: Date | null;
  readonly version: number;
  /** [name, output as JSON text, stored] */
  readonly inputs: readonly (readonly [string, string | null, StoredValue | null])[];
}

/** Takes sensors whose checks are due for `holdMs`; who dies with them is followed by another. */
export async function claimPokes(
  db: Db,
  worker: string,
  queues: readonly string[],
  limit: number,
  holdMs: number,
): Promise<readonly PokeRow[]> {
  const { rows } = await db.query<PokeRow>("select * from app.claim_pokes($1, $2, $3, $4)", [
    worker,
    queues,
    limit,
    holdMs,
  ]);
  return rows;
}

/** A check that said no; or was none, and is to be made again at once. */
export type Poked = WaitKey & { readonly again: boolean };

export async function poked(db: Db, worker: string, all: readonly Poked[]): Promise<void> {
  await db.query("select app.poked($1, $2)", [JSON.stringify(all), worker]);
}

/** Checks that go on; answers those whose waits are this worker's no longer. */
export async function keepPokes(
  db: Db,
  worker: string,
  keys: readonly WaitKey[],
  holdMs: number,
): Promise<readonly WaitKey[]> {
  const { rows } = await db.query<{ lost: [number, string, number, number, number][] }>(
    "select app.keep_pokes($1, $2, $3) as lost",
    [JSON.stringify(keys), worker, holdMs],
  );
  return rows[0]!.lost.map(([run, task_id, map_index, number, wait]) => ({
    run,
    task_id,
    map_index,
    try: number,
    wait,
  }));
}

export interface UntoldWait extends WaitKey {
  readonly resumes: boolean;
  readonly ended_as: EndedAs | "cancelled";
  readonly detail: WaitDetail | null;
  readonly dag_id: string;
  readonly run_id: string;
}

/** Takes ended waits that their runs may not know of; nobody else takes them for `holdMs`. */
export async function takeUntoldWaits(db: Db, limit: number, holdMs: number): Promise<readonly UntoldWait[]> {
  const { rows } = await db.query<UntoldWait>("select * from app.untold_waits($1, $2)", [limit, holdMs]);
  return rows;
}

/** The waits of `$1`, locked in one order: several tellers may have some of the same. */
const IN_ORDER = `
  select w.run, w.task_id, w.map_index, w.try, w.wait from app.wait w
  join jsonb_to_recordset($1) as k(run bigint, task_id text, map_index integer, try integer, wait integer)
    using (run, task_id, map_index, try, wait)
  order by w.run, w.task_id, w.map_index, w.try, w.wait for update of w`;

/** The runs were told: again after `againMs`, unless they say that they know. */
export async function waitsTold(db: Db, keys: readonly WaitKey[], againMs: number): Promise<void> {
  await db.query(
    `update app.wait w set tell_after = app.now() + make_interval(secs => $2::double precision / 1000)
     from (${IN_ORDER}) x
     where w.run = x.run and w.task_id = x.task_id and w.map_index = x.map_index and w.try = x.try and w.wait = x.wait`,
    [JSON.stringify(keys), againMs],
  );
}

/** Nobody is there to be told. */
export async function waitsKnown(db: Db, keys: readonly WaitKey[]): Promise<void> {
  await db.query(
    `update app.wait w set known = true
     from (${IN_ORDER}) x
     where w.run = x.run and w.task_id = x.task_id and w.map_index = x.map_index and w.try = x.try and w.wait = x.wait`,
    [JSON.stringify(keys)],
  );
}

export interface ResumedRow {
  /** JSON texts. */
  readonly payload: string | null;
  readonly state: string | null;
  /** When its try's execution time-out is over. */
  readonly try_expires_at: Date | null;
}

/** What ended a wait, and what its body kept over it. */
export async function resumedBy(db: Db, key: WaitKey): Promise<ResumedRow | null> {
  const { rows } = await db.query<ResumedRow>(
    `select payload::text as payload, state::text as state, try_expires_at from app.wait
     where run = $1 and task_id = $2 and map_index = $3 and try = $4 and wait = $5`,
    [key.run, key.task_id, key.map_index, key.try, key.wait],
  );
  return rows[0] ?? null;
}

/** What ended the last wait of the try before, whose worker was lost before its run heard that it waits; null: nothing has. */
export async function endedBefore(db: Db, key: TryKey): Promise<ResumedRow | null> {
  const { rows } = await db.query<ResumedRow>(
    `select payload::text as payload, state::text as state, try_expires_at from app.wait
     where run = $1 and task_id = $2 and map_index = $3 and try = $4 - 1 and ended_as = 'success'
       -- One that came ahead of its beginning says nothing of that yet.
       and (resumes or begun_at is null)
     order by wait desc limit 1`,
    [key.run, key.task_id, key.map_index, key.try],
  );
  return rows[0] ?? null;
}

export type EventAnswer = "ended" | "already_ended" | "too_late" | "no_run";

export interface EventEnding {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  /** Null: of the wait that is next to end. */
  readonly try: number | null;
  readonly wait: number | null;
  /** JSON. */
  readonly payload: string;
  readonly who: string;
  readonly detail: WaitDetail | null;
}

/** Somebody ends a wait, or one that is to come (K39). */
export async function endEvent(
  db: Db,
  e: EventEnding,
): Promise<{ readonly answer: EventAnswer; readonly try: number; readonly wait: number }> {
  const { rows } = await db.query<{ answer: EventAnswer; at_try: number; at_wait: number }>(
    "select * from app.end_event($1, $2, $3, $4, $5, $6, $7, $8)",
    [
      e.run,
      e.task_id,
      e.map_index,
      e.try,
      e.wait,
      e.payload,
      e.who,
      e.detail === null ? null : storableJson(e.detail),
    ],
  );
  const { answer, at_try, at_wait } = rows[0]!;
  return { answer, try: at_try, wait: at_wait };
}

export interface RunOfWait {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly state: RunState;
  readonly version: number | null;
}

/** Null: there is no such run, or it is not kept any more. */
export async function runOfWait(db: Db, run: number): Promise<RunOfWait | null> {
  const { rows } = await db.query<RunOfWait>(
    "select run::float8 as run, dag_id, run_id, state, version::float8 as version from app.dag_run where run = $1",
    [run],
  );
  return rows[0] ?? null;
}

/** A task or instance, in whichever try. */
export type WaitTask = Pick<WaitKey, "run" | "task_id" | "map_index">;

export interface LastWait {
  readonly try: number;
  readonly wait: number;
  readonly kind: WaitKind;
  /** Its run takes it as still waiting. */
  readonly stands: boolean;
}

/** The state of a task, null when it has none yet, and the last wait that it has begun. */
export async function waitOfTask(
  db: Db,
  key: WaitTask,
): Promise<{ readonly state: TaskState | null; readonly last: LastWait | null }> {
  const { rows } = await db.query<{ state: TaskState | null } & (LastWait | Record<keyof LastWait, null>)>(
    `select c.state, w.try, w.wait, w.kind, not w.known as stands
     from (select $1::bigint as run, $2::text as task_id, $3::integer as map_index) k
     left join app.cell c using (run, task_id, map_index)
     left join lateral (
       select * from app.wait w
       where w.run = k.run and w.task_id = k.task_id and w.map_index = k.map_index and w.begun_at is not null
       order by w.try desc, w.wait desc limit 1) w on true`,
    [key.run, key.task_id, key.map_index],
  );
  const { state, ...last } = rows[0]!;
  return { state, last: last.kind === null ? null : last };
}

/** Makes the next check of a wait due now, unless one is being made, or it has ended. */
export async function pokeWait(db: Db, key: WaitKey): Promise<"due" | "under_way" | "over"> {
  const { rows } = await db.query<{ is_free: boolean }>(
    `update app.wait w set next_at = case when w.claimed_until > app.now() then w.next_at else least(w.next_at, app.now()) end
     where w.run = $1 and w.task_id = $2 and w.map_index = $3 and w.try = $4 and w.wait = $5 and w.ended_at is null
     returning coalesce(w.claimed_until <= app.now(), true) as is_free`,
    [key.run, key.task_id, key.map_index, key.try, key.wait],
  );
  if (rows.length === 0) return "over";
  return rows[0]!.is_free ? "due" : "under_way";
}

/** What signs the addresses of waits. */
export async function waitSecret(db: Db): Promise<string> {
  const { rows } = await db.query<{ value: string }>("select value from app.secret where name = 'waits'");
  return rows[0]!.value;
}

/** The tries in which tasks of a run wait, or will wait next. */
export async function eventTries(
  db: Db,
  run: number,
  tasks: readonly { readonly task_id: string; readonly map_index: number }[],
): Promise<readonly { readonly task_id: string; readonly map_index: number; readonly try: number }[]> {
  const { rows } = await db.query<{ task_id: string; map_index: number; try: number }>(
    `select x.task_id, x.map_index, case when c.state = 'deferred' then c.try else coalesce(c.try, 0) + 1 end as try
     from jsonb_to_recordset($2) as x(task_id text, map_index integer)
     left join app.cell c on c.run = $1 and c.task_id = x.task_id and c.map_index = x.map_index`,
    [run, JSON.stringify(tasks)],
  );
  return rows;
}
