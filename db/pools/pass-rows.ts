import { mostOf, type AccountView, type Lane, type WaitingRequest } from "../../core/allocate.ts";
import { groupBy } from "../../core/group-by.ts";
import { USE_HALF_LIFE_MS, type ClassNumber, type Dial } from "../../core/limits.ts";
import type { Holder } from "../../core/reclaim.ts";
import type { Db } from "../connection.ts";

/** Of each lane so many are looked at, beside those that may be granted; who stands behind waits for them. */
export const HEADS = 8;
/** Grants of a lane in one pass. */
const MOST_GRANTS = 1_000;

/** What waits and draws on the same accounts. */
export interface LaneKey {
  readonly account: string;
  readonly limits: readonly string[];
  readonly class: ClassNumber;
}

interface HeadRow extends WaitingRequest {
  /** Its lane's place among those asked for, from 1. */
  readonly lane: number;
  readonly reason: string | null;
}

/** A lane, with the reasons that its heads have had so far. */
export interface WaitingLane extends Lane {
  readonly heads: readonly HeadRow[];
}

export async function anyWaiting(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ any: boolean }>(
    "select exists (select from app.lease where granted_at is null and not held) as any",
  );
  return rows[0]!.any;
}

/** The sets of accounts that anything waits for: a loose scan over lease_waiting, one probe for each, however many wait. */
export async function readLaneKeys(db: Db): Promise<LaneKey[]> {
  const { rows } = await db.query<LaneKey>(`
    with recursive lane as (
      (select account, limits, class from app.lease where granted_at is null and not held order by account, limits, class limit 1)
      union all
      select n.account, n.limits, n.class from lane w cross join lateral (
        select l.account, l.limits, l.class from app.lease l
        where l.granted_at is null and not l.held and (l.account, l.limits, l.class) > (w.account, w.limits, w.class)
        order by l.account, l.limits, l.class limit 1) n
    )
    select account, limits, class from lane`);
  return rows;
}

/** Their heads: as many as may be granted, and some more to be told why they wait. */
export async function readLanes(
  db: Db,
  keys: readonly LaneKey[],
  accounts: readonly AccountView[],
): Promise<WaitingLane[]> {
  const views = new Map(accounts.map((view) => [view.key, view]));
  const freeOf = (key: string): number | undefined => {
    const view = views.get(key);
    return view && (view.slots ?? 0) - view.used;
  };
  const wanted = keys.map(({ account, limits }) => {
    // A tenant may borrow: its cohort says how much.
    const bounds = [account, ...limits.filter((key) => !key.startsWith("tenant:"))];
    const least = Math.min(...bounds.map((key) => freeOf(key) ?? MOST_GRANTS));
    // What is its own, it takes back of others.
    const own = limits.find((key) => key.startsWith("tenant:"));
    const most = own === undefined ? least : Math.max(least, freeOf(own) ?? 0);
    return HEADS + Math.max(0, Math.min(most, MOST_GRANTS));
  });
  const largest = keys.map(({ account, limits }) => {
    const bounds = [account, ...limits.filter((key) => !key.startsWith("task"))];
    return Math.min(LARGEST, ...bounds.flatMap((key) => views.get(key) ?? []).map(mostOf));
  });
  const heads = await readHeads(db, keys, wanted, largest);
  return keys.map(({ account, limits, class: own }, index) => ({
    accounts: [account, ...limits],
    class: own,
    heads: heads.get(index + 1) ?? [],
  }));
}

/** What PostgreSQL's integer holds. */
const LARGEST = 2 ** 31 - 1;

/** What can never fit does not stand in the way of what can (K45): it is read apart, to be told so. */
async function readHeads(
  db: Db,
  lanes: readonly LaneKey[],
  wanted: readonly number[],
  largest: readonly number[],
): Promise<Map<number, HeadRow[]>> {
  const { rows } = await db.query<HeadRow>(
    `select k.n::integer as lane, l.ctid::text as id, l.slots, l.priority, l.seq::double precision as seq, l.reason
     from unnest($1::text[], $2::text[], $3::smallint[], $4::integer[], $5::integer[])
       with ordinality as k(account, limits, class, wanted, largest, n)
     cross join lateral (
       (select w.ctid, w.slots, w.priority, w.seq, w.reason from app.lease w
        where w.account = k.account and w.limits = k.limits::text[] and w.class = k.class and w.granted_at is null and not w.held
          and w.slots <= k.largest
        order by w.priority desc, w.seq limit k.wanted)
       union all
       (select w.ctid, w.slots, w.priority, w.seq, w.reason from app.lease w
        where w.account = k.account and w.limits = k.limits::text[] and w.class = k.class and w.granted_at is null and not w.held
          and w.slots > k.largest
        order by w.priority desc, w.seq limit ${HEADS})
     ) l
     order by k.n, l.priority desc, l.seq`,
    [
      lanes.map(({ account }) => account),
      // An array of arrays of different lengths is none to PostgreSQL.
      lanes.map(({ limits }) => `{${limits.map((key) => `"${key}"`).join()}}`),
      lanes.map((lane) => lane.class),
      wanted,
      largest,
    ],
  );
  return groupBy(rows, (row) => row.lane);
}

/** Of every account that one of the lanes draws on, and of what runs by hand take of its pool. */
export async function readAccounts(db: Db, lanes: readonly LaneKey[]): Promise<AccountView[]> {
  const pools = new Set(lanes.map(({ account }) => account));
  const { rows } = await db.query<AccountView & { readonly owed: [number, number] }>(
    `select k.key, a.slots, coalesce(a.owed, '{0,0}') as owed,
            coalesce((select sum(l.slots) from app.lease l where l.account = k.key and l.granted_at is not null), 0)::integer as used
     from unnest($1::text[]) as k(key) left join app.account a on a.key = k.key`,
    [[...pools]],
  );
  const limits = await readLimits(db, [
    ...new Set([
      ...lanes.flatMap((lane) => lane.limits),
      ...[...pools].flatMap((key) => (key.startsWith("pool:") ? [`adhoc:${key.slice(5)}`] : [])),
    ]),
  ]);
  return [...rows, ...limits];
}

interface LimitRow {
  readonly key: string;
  readonly slots: number;
  readonly used: number;
  readonly cohort: string | null;
  readonly most: number | null;
  readonly exhausted: number | null;
  readonly recent: number;
}

/** Of limits beside pools. One that is no more bounds nothing, and what runs by hand take only where there is a floor. */
export async function readLimits(db: Db, keys: readonly string[]): Promise<AccountView[]> {
  if (keys.length === 0) return [];
  const { rows } = await db.query<LimitRow>(
    `select k.key, coalesce(a.slots, 2147483647) as slots, coalesce(u.used, 0)::integer as used,
            'cohort:' || a.cohort as cohort, a.most,
            case when a.exhausted_until > app.now() then a.core_hours end as exhausted,
            case when k.key like 'tenant:%' then app.recent_use(substr(k.key, 8), $2) else 0 end as recent
     from unnest($1::text[]) as k(key) left join app.account a on a.key = k.key
     left join app.limits_used($1) u on u.key = k.key
     where a.key is not null or k.key not like 'adhoc:%'`,
    [keys, USE_HALF_LIFE_MS],
  );
  return rows.map(({ cohort, most, exhausted, recent, ...view }) =>
    view.key.startsWith("tenant:") ? { ...view, tenant: { cohort, most, exhausted, recent } } : view,
  );
}

export interface DialNow {
  readonly dial: Dial;
  /** Tries under way. */
  readonly used: number;
}

export async function readDialNow(db: Db): Promise<DialNow | null> {
  const { rows } = await db.query<{
    tries: number | null;
    below_class: ClassNumber | null;
    below_priority: number | null;
    who: string;
    reason: string;
    used: number;
  }>(
    `select d.tries, d.below_class, d.below_priority, d.who, d.reason,
            (select count(*) from app.lease l where l.granted_at is not null and l.task_id <> '')::integer as used
     from app.dial_in_force() d`,
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { tries, below_class: belowClass, below_priority: belowPriority, who, reason, used } = row;
  return { dial: { tries, belowClass, belowPriority, who, reason }, used };
}

/** Tries under way that draw on one of these limits; null: all. Those that have their slots first come first. */
export async function readHolders(db: Db, limits: readonly string[] | null): Promise<Holder[]> {
  const { rows } = await db.query<Holder>(
    `select l.ctid::text as id, l.account as pool, l.limits, l.slots, l.class, l.priority,
            extract(epoch from l.granted_at)::double precision * 1000 as "grantedAt", l.preempted_at is not null as "isPreempted"
     from app.lease l
     where l.granted_at is not null and l.task_id <> '' and ($1::text[] is null or (l.limits <> '{}' and l.limits && $1))
     order by l.granted_at`,
    [limits],
  );
  return rows;
}
