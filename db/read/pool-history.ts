import type { Db } from "../connection.ts";

/** How full a pool was at an instant; none where it had no work. */
interface PoolSampleRow {
  readonly at: Date;
  readonly slots: number;
  readonly used: number;
  readonly waiting: number;
  readonly longest_ms: number | null;
  readonly p95_ms: number | null;
}

/** A full minute; none where nothing came and nothing was granted. */
interface PoolMinuteRow {
  readonly at: Date;
  readonly arrivals: number;
  readonly grants: number;
}

export interface PoolHistory {
  readonly samples: readonly PoolSampleRow[];
  readonly minutes: readonly PoolMinuteRow[];
}

/** The series of a pool over the last minutes, oldest first; `coarse`: only the samples at full minutes. */
export async function readPoolHistory(
  db: Db,
  account: string,
  minutes: number,
  coarse: boolean,
): Promise<PoolHistory> {
  const samples = await db.query<PoolSampleRow>(
    `select s.at, s.slots, s.used, s.waiting, s.longest_ms, s.p95_ms from app.pool_sample s
     where s.account = $1 and s.at >= app.now() - make_interval(mins => $2) and (not $3 or date_trunc('minute', s.at) = s.at)
     order by s.at`,
    [account, minutes, coarse],
  );
  const flow = await db.query<PoolMinuteRow>(
    `with since as (select date_trunc('minute', app.now() - make_interval(mins => $2)) as at)
     select f.at, sum(f.asked)::int as arrivals, sum(f.granted)::int as grants from (
       select f.at, f.asked, f.granted from app.flow f, since s where f.account = $1 and f.at >= s.at
       union all
       select date_trunc('minute', t.at), t.asked, t.granted
       from (
         select requested_at, granted_at from app.lease where account = $1
         union all select requested_at, granted_at from app.ended_lease where account = $1
       ) l, since s,
         lateral (values (l.requested_at, 1, 0), (l.granted_at, 0, 1)) as t(at, asked, granted)
       where t.at >= s.at
     ) f
     group by f.at order by f.at`,
    [account, minutes],
  );
  return { samples: samples.rows, minutes: flow.rows };
}
