import type { Db } from "../connection.ts";

/** A run that holds leases and has been quiet for a while: is it still there? */
export interface SuspectRun {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly state: string;
  /** Activity ids of the tries that hold slots, with `+n` behind them of those that go on behind wait n; null when none does. */
  readonly granted: readonly string[] | null;
}

/**
 * Runs behind number `after` with a granted and told lease older than `quietMs`, in the order of their numbers. Not those
 * that Temporal does not have yet: the outbox starts them.
 */
export async function suspectRuns(
  db: Db,
  quietMs: number,
  limit: number,
  after: number,
): Promise<readonly SuspectRun[]> {
  const { rows } = await db.query<SuspectRun>(
    `select d.run, d.dag_id, d.run_id, d.state, s.granted from (
       select l.run, array_agg(l.task_id || case when l.map_index < 0 then '' else '[' || l.map_index || ']' end || '.' || l.try || case when l.wait > 0 then '+' || l.wait else '' end) filter (where l.task_id <> '') as granted from app.lease l
       where l.granted_at is not null and l.told_at < app.now() - make_interval(secs => $1::double precision / 1000)
         and l.run > $3
         and not exists (select from app.lease o where o.run = l.run and o.task_id = '' and not o.known)
       group by l.run order by l.run limit $2
     ) s join app.dag_run d on d.run = s.run order by d.run`,
    [quietMs, limit, after],
  );
  return rows;
}

/** Leases whose try has ended by the run's or the worker's own record: a crash came between. Returns how many. */
export async function freeEndedTries(db: Db, quietMs: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from app.lease l using app.task_try t
     where t.run = l.run and t.task_id = l.task_id and t.map_index = l.map_index and t.try = l.try
       and t.state <> 'running' and t.ended_at < app.now() - make_interval(secs => $1::double precision / 1000)`,
    [quietMs],
  );
  return rowCount ?? 0;
}

/**
 * The run's workflow is gone (terminated, timed out, or lost with Temporal's database): it ends as failed with the
 * reason, what was open in it as cancelled, and its leases come back. Does nothing to a run that ended in order.
 */
export async function endGoneRun(db: Db, run: number, reason: string): Promise<boolean> {
  const { rows } = await db.query<{ ended: boolean }>("select app.end_gone_run($1, $2) as ended", [
    run,
    reason,
  ]);
  return rows[0]!.ended;
}
