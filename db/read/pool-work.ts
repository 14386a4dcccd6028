import type { Db } from "../connection.ts";
import { NOT_BEGUN, withReasons } from "./not-begun.ts";

/** A lease or a request of a pool, with the run it belongs to. */
export interface PoolWorkRow {
  readonly run: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  readonly slots: number;
  readonly priority: number;
  readonly granted: boolean;
  /** It has its slots, and no worker has taken it up. */
  readonly not_begun: boolean;
  readonly reason: string | null;
  readonly since: Date;
}

/** Who holds slots of an account, oldest first, and who waits, in the order of their turn: `limit` of each. */
export async function readPoolWork(db: Db, account: string, limit: number): Promise<PoolWorkRow[]> {
  const { rows } = await db.query<PoolWorkRow>(
    `select l.run, r.dag_id, r.run_id, l.task_id, l.map_index, l.try, l.slots, l.priority,
       l.granted_at is not null as granted,
       l.granted_at is not null and ${NOT_BEGUN} as not_begun, l.reason,
       coalesce(l.granted_at, l.reason_since, l.requested_at) as since
     from (
       (select * from app.lease where account = $1 and granted_at is not null order by seq limit $2)
       union all
       (select * from app.lease where account = $1 and granted_at is null order by priority desc, seq limit $2)) l
     join app.dag_run r on r.run = l.run
     order by l.granted_at is null, case when l.granted_at is null then -l.priority end, l.seq`,
    [account, limit],
  );
  return await withReasons(db, rows);
}
