import type { ClassNumber } from "../../core/limits.ts";
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
  /** How long what waits has waited; null: nothing waits. */
  readonly longest_ms: number | null;
  readonly p95_ms: number | null;
  /** Tries that were asked to give their slots back and have not yet. */
  readonly preempted: number;
  /** Slots that runs by hand cannot take. */
  readonly floor: number;
  readonly classes: readonly PoolClassRow[];
}

/** What one priority class has and had of a pool. */
interface PoolClassRow {
  readonly class: ClassNumber;
  readonly used: number;
  readonly waiting: number;
  /** A minute, over the last `FLOW_MINUTES`. */
  readonly arrivals: number;
  readonly grants: number;
}

/** Arrivals and grants are told as an average over so many minutes, and the one under way. */
const FLOW_MINUTES = 10;

/** Pools with their use, and the ones that only requests name; `account` null: all, reading every lease once. */
export async function readPools(db: Db, account: string | null): Promise<PoolRow[]> {
  const { rows } = await db.query<PoolRow>(
    `with now as materialized (
       select n.at as until, date_trunc('minute', n.at) - interval '${FLOW_MINUTES} minutes' as at from (select app.now() as at) n
     ), lease as materialized (
       select account, class, sum(slots) filter (where granted_at is not null) as used,
         count(*) filter (where granted_at is null) as waiting, sum(slots) filter (where granted_at is null) as waiting_slots,
         count(*) filter (where requested_at >= n.at) as asked, count(*) filter (where granted_at >= n.at) as granted,
         count(*) filter (where granted_at is not null and preempted_at is not null) as preempted
       from app.lease, now n where account like 'pool:%' and ($1::text is null or account = $1)
       group by account, class
     ), one as (
       select account, sum(used) as used, sum(waiting) as waiting, sum(waiting_slots) as waiting_slots, sum(preempted) as preempted
       from lease group by account
     ), wait as (
       select account, min(requested_at) as longest, percentile_disc(0.05) within group (order by requested_at) as p95
       from app.lease where granted_at is null and account like 'pool:%' and ($1::text is null or account = $1)
       group by account
     ), flow as (
       select account, class, used, waiting, asked, granted from lease
       union all
       select account, class, 0, 0, count(*) filter (where requested_at >= n.at), count(*) filter (where granted_at >= n.at)
       from app.ended_lease, now n where $1::text is null or account = $1 group by account, class
       union all
       select account, class, 0, 0, asked, granted from app.flow f, now n
       where f.at >= n.at and ($1::text is null or account = $1)
     ), class as (
       select f.account, f.class, coalesce(sum(f.used), 0)::int as used, sum(f.waiting)::int as waiting,
         round(sum(f.asked) / m.minutes, 2)::float8 as arrivals, round(sum(f.granted) / m.minutes, 2)::float8 as grants
       from flow f, (select extract(epoch from until - at) / 60 as minutes from now) m group by f.account, f.class, m.minutes
     ), classes as (
       select account, jsonb_agg(jsonb_build_object('class', class, 'used', used, 'waiting', waiting,
          'arrivals', arrivals, 'grants', grants) order by class desc) as classes
       from class group by account
     )
     select coalesce(a.key, o.account) as account, a.slots, a.description, coalesce(o.used, 0)::int as used,
       coalesce(o.waiting, 0)::int as waiting, coalesce(o.waiting_slots, 0)::int as waiting_slots,
       (extract(epoch from n.until - w.longest) * 1000)::float8 as longest_ms,
       (extract(epoch from n.until - w.p95) * 1000)::float8 as p95_ms, coalesce(o.preempted, 0)::int as preempted, greatest(coalesce(a.slots - h.slots, 0), 0) as floor,
       coalesce(c.classes, '[]') as classes
     from (select * from app.account where key like 'pool:%' and ($1::text is null or key = $1)) a
     full join one o on o.account = a.key
     cross join now n
     left join wait w on w.account = o.account
     left join classes c on c.account = coalesce(a.key, o.account)
     left join app.account h on h.key = 'adhoc:' || substr(coalesce(a.key, o.account), 6)
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
