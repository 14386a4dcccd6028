import { transaction, type Db, type Pool } from "./connection.ts";
import { closeRuns, type CloseRun, type CreatedRun, type NewRun } from "./runs.ts";

/** So many triggers in any stretch of that length. */
export interface Rate {
  /** What is counted: `dag:ID`, `tenant:NAME`, `caller:NAME`. */
  readonly key: string;
  readonly triggers: number;
  readonly within_ms: number;
}

/** How many runs may wait for their places. */
interface MostWaiting {
  /** Of the DAG. */
  readonly dag?: number;
  /** Of its tenant, whose name is given too. */
  readonly tenant?: number;
  readonly tenant_name?: string;
}

export interface TriggeredRow extends NewRun {
  /** Left out: no rate counts it. */
  readonly rates?: readonly Rate[];
  /** Left out: any number. */
  readonly most?: MostWaiting;
}

export type Refusal =
  /** There is room again in `again_ms`. */
  | ({ readonly rule: "rate"; readonly again_ms: number } & Rate)
  | {
      readonly rule: "queued";
      readonly of: "dag" | "tenant";
      readonly name: string;
      readonly waiting: number;
      readonly most: number;
    };

/** `refused` null: it was made, or was there already. */
export interface TriggerAnswer extends CreatedRun {
  readonly refused: Refusal | null;
}

/**
 * Creates runs by hand as `createRuns` does, unless a rate or a bound of what waits stands against one. Exact over all
 * processes; what makes no run, since it is there already, costs nothing. Answers in the order of `runs`.
 */
export async function triggerRuns(db: Db, runs: readonly TriggeredRow[]): Promise<readonly TriggerAnswer[]> {
  const { rows } = await db.query<TriggerAnswer>("select * from app.trigger_runs($1)", [
    JSON.stringify(runs.map((run) => ({ ...run, rates: run.rates ?? [] }))),
  ]);
  return rows;
}

/** Forgets triggers that no rate counts any more. */
export async function forgetTriggers(db: Db, olderThanMs: number): Promise<void> {
  await db.query(
    "delete from app.trigger_hit where at < app.now() - make_interval(secs => $1::double precision / 1000)",
    [olderThanMs],
  );
}

/** A run that waits for its first place for too long. */
export interface LateRun {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly version: number;
  /** Without the time in which its paused DAG held it. */
  readonly waited_ms: number;
  /** Places of its DAG, and how many are taken. */
  readonly places: number;
  readonly taken: number;
}

/**
 * Ends up to `limit` runs that have waited longer than `timeoutMs` for their first place as `endsOf` says, and leaves an alert
 * with the reason of each. Safe beside itself; answers those it ended.
 */
export async function failLateRuns(
  pool: Pool,
  timeoutMs: number,
  limit: number,
  endsOf: (runs: readonly LateRun[], client: Db) => Promise<readonly CloseRun[]>,
): Promise<readonly LateRun[]> {
  return await transaction(pool, async (client) => {
    const { rows } = await client.query<LateRun>(
      `select l.run, r.dag_id, r.run_id, r.version, w.waited_ms, a.slots as places,
              (select coalesce(sum(g.slots), 0)::integer from app.lease g where g.account = l.account and g.granted_at is not null) as taken
       from app.dag_run r join app.lease l on l.run = r.run and l.task_id = '' join app.account a on a.key = l.account
       cross join lateral (
         select extract(epoch from app.now() - r.queued_at - coalesce(sum(h.until - h.since), '0'))::double precision * 1000 as waited_ms
         from app.waited h where h.run = r.run and h.task_id = '' and h.reason = 'its dag is paused') w
       where r.state = 'queued' and r.run_state is null and l.granted_at is null and not l.held
         and r.queued_at < app.now() - make_interval(secs => $1::double precision / 1000) and w.waited_ms > $1
       order by r.queued_at limit $2 for update of l skip locked`,
      [timeoutMs, limit],
    );
    if (rows.length === 0) return rows;
    const ends = await endsOf(rows, client);
    await client.query(
      `insert into app.alert (run, task_id, try, kind, message)
       select t.run, '', 0, 'queued_too_long', t.reason from jsonb_to_recordset($1) as t(run bigint, reason text)
       on conflict do nothing`,
      [JSON.stringify(ends.map(({ run, reason }) => ({ run, reason })))],
    );
    await closeRuns(client, ends);
    return rows;
  });
}
