import type { Db } from "../connection.ts";

export interface PoolRow {
  /** `pool:NAME` */
  readonly account: string;
  /** null: tasks name it, and nobody has made it. */
  readonly slots: number | null;
  readonly description: string | null;
  readonly used: number;
  readonly waiting: number;
  readonly waiting_slots: number;
}

/** Pools with their use, and the ones that only requests name; `account` null: all, reading every lease once. */
export async function readPools(db: Db, account: string | null): Promise<PoolRow[]> {
  const { rows } = await db.query<PoolRow>(
    `select coalesce(a.key, l.account) as account, a.slots, a.description, coalesce(l.used, 0)::int as used,
       coalesce(l.waiting, 0)::int as waiting, coalesce(l.waiting_slots, 0)::int as waiting_slots
     from (select * from app.account where key like 'pool:%' and ($1::text is null or key = $1)) a
     full join (
       select account, sum(slots) filter (where granted_at is not null) as used,
         count(*) filter (where granted_at is null) as waiting,
         sum(slots) filter (where granted_at is null) as waiting_slots
       from app.lease where account like 'pool:%' and ($1::text is null or account = $1) group by account) l on l.account = a.key
     order by 1`,
    [account],
  );
  return rows;
}

/** A lease or a request, with the run it belongs to. */
export interface WorkRow {
  readonly account: string;
  readonly dag_id: string;
  readonly run_id: string;
  readonly task_id: string;
  readonly map_index: number;
  readonly slots: number;
  readonly granted: boolean;
}

const WORK = `l.account, r.dag_id, r.run_id, l.task_id, l.map_index, l.slots, l.granted_at is not null as granted`;

/** Waiting requests that need more than their pool has, or whose pool does not exist: `limit` for each pool at the most. */
export async function readImpossible(db: Db, account: string | null, limit: number): Promise<WorkRow[]> {
  const { rows } = await db.query<WorkRow>(
    `select ${WORK} from (
       select x.*, row_number() over (partition by x.account order by x.seq) as place
       from app.lease x left join app.account a on a.key = x.account
       where x.granted_at is null and x.account like 'pool:%' and ($1::text is null or x.account = $1)
         and (a.key is null or x.slots > a.slots)) l
     join app.dag_run r on r.run = l.run
     where l.place <= $2 order by l.account, l.seq`,
    [account, limit],
  );
  return rows;
}

/** What holds or asks for slots of an account, oldest first. */
export async function readWork(db: Db, account: string, limit: number): Promise<WorkRow[]> {
  const { rows } = await db.query<WorkRow>(
    `select ${WORK} from app.lease l join app.dag_run r on r.run = l.run
     where l.account = $1 order by l.seq limit $2`,
    [account, limit],
  );
  return rows;
}
