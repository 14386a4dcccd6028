import type pg from "pg";
import { allocate, type AccountView, type WaitingRequest } from "../../core/allocate.ts";
import { groupBy } from "../../core/group-by.ts";
import { transaction, type Db } from "../connection.ts";

/** Heads read per account and pass; those behind them keep the reason of the last one looked at. */
const HEADS = 256;
/** A run's own `advance` usually takes its grants within this time; then the outbox tells it. */
const TELL_AFTER_MS = 20;

interface LaneRow {
  account: string;
  limits: string[];
}

interface HeadRow extends WaitingRequest {
  /** Its lane's place among those asked for, from 1. */
  readonly lane: number;
  readonly reason: string | null;
}

/**
 * One pass of the allocator over all accounts with waiting requests. Returns the number of grants.
 * Several processes may call it at once: the transaction lock lets one decide at a time, and those that name their
 * accounts (`app.share_allocator`) not at the same time.
 */
export async function admissionPass(pool: pg.Pool): Promise<number> {
  if (!(await anyWaiting(pool))) return 0;
  return await transaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock(72, 2)");
    const rows = await waitingLanes(client);
    const heads = await headsOf(client, rows);
    const lanes = rows.map(({ account, limits }, index) => ({
      accounts: [account, ...limits],
      heads: heads.get(index + 1) ?? [],
    }));
    const { granted, reasons } = allocate(await accountsOf(client, rows), lanes);
    const before = new Map([...heads.values()].flat().map((head) => [head.id, head.reason]));
    const changed = new Map([...reasons].filter(([id, reason]) => before.get(id) !== reason));
    if (granted.length > 0) await grant(client, granted);
    if (changed.size > 0) await explain(client, changed);
    await explainRest(client, [...new Set(rows.map(({ account }) => account))]);
    return granted.length;
  });
}

async function anyWaiting(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ any: boolean }>(
    "select exists (select from app.lease where granted_at is null and not held) as any",
  );
  return rows[0]!.any;
}

/** The sets of accounts that anything waits for, by a loose scan over lease_waiting: one probe for each, however many wait. */
async function waitingLanes(db: Db): Promise<LaneRow[]> {
  const { rows } = await db.query<LaneRow>(`
    with recursive lane as (
      (select account, limits from app.lease where granted_at is null and not held order by account, limits limit 1)
      union all
      select n.account, n.limits from lane w cross join lateral (
        select l.account, l.limits from app.lease l
        where l.granted_at is null and not l.held and (l.account, l.limits) > (w.account, w.limits)
        order by l.account, l.limits limit 1) n
    )
    select account, limits from lane`);
  return rows;
}

/** Of every account that one of the lanes draws on: its ceiling and what is in use. A limit that is no more bounds nothing. */
async function accountsOf(db: Db, lanes: readonly LaneRow[]): Promise<AccountView[]> {
  const { rows } = await db.query<AccountView>(
    `select k.key, a.slots,
            coalesce((select sum(l.slots) from app.lease l where l.account = k.key and l.granted_at is not null), 0)::integer as used
     from unnest($1::text[]) as k(key) left join app.account a on a.key = k.key`,
    [[...new Set(lanes.map(({ account }) => account))]],
  );
  const limits = new Set(lanes.flatMap((lane) => lane.limits));
  if (limits.size === 0) return rows;
  const beside = await db.query<AccountView>(
    `select k.key, coalesce(a.slots, 2147483647) as slots, coalesce(u.used, 0)::integer as used
     from unnest($1::text[]) as k(key) left join app.account a on a.key = k.key
     left join (
       select x.key, sum(l.used) as used from (
         select limits, count(*) as used from app.lease where granted_at is not null and limits <> '{}' group by limits
       ) l cross join unnest(l.limits) as x(key) group by x.key
     ) u on u.key = k.key`,
    [[...limits]],
  );
  return [...rows, ...beside.rows];
}

async function headsOf(db: Db, lanes: readonly LaneRow[]): Promise<Map<number, HeadRow[]>> {
  const { rows } = await db.query<HeadRow>(
    `select k.n::integer as lane, l.ctid::text as id, l.slots, l.priority, l.seq::double precision as seq, l.reason
     from unnest($1::text[], $2::text[]) with ordinality as k(account, limits, n)
     cross join lateral (
       select w.ctid, w.slots, w.priority, w.seq, w.reason from app.lease w
       where w.account = k.account and w.limits = k.limits::text[] and w.granted_at is null and not w.held
       order by w.priority desc, w.seq limit ${HEADS}
     ) l
     order by k.n, l.priority desc, l.seq`,
    // An array of arrays of different lengths is none to PostgreSQL.
    [
      lanes.map(({ account }) => account),
      lanes.map(({ limits }) => `{${limits.map((key) => `"${key}"`).join()}}`),
    ],
  );
  return groupBy(rows, (row) => row.lane);
}

/** By row address: all changes to waiting rows are made under the allocator's lock or delete them, so it holds still. */
async function grant(db: Db, ids: readonly string[]): Promise<void> {
  await db.query(
    `update app.lease set granted_at = app.now(), reason = null, reason_since = null,
            tell_after = app.now() + case when task_id = '' then interval '0' else interval '${TELL_AFTER_MS} milliseconds' end
     where ctid = any ($1::tid[]) and granted_at is null`,
    [ids],
  );
}

async function explain(db: Db, reasons: ReadonlyMap<string, string>): Promise<void> {
  await db.query(
    `update app.lease l set reason = r.reason, reason_since = app.now()
     from unnest($1::tid[], $2::text[]) as r(id, reason) where l.ctid = r.id and l.granted_at is null`,
    [[...reasons.keys()], [...reasons.values()]],
  );
}

/** Requests behind the heads: they wait for those ahead. */
async function explainRest(db: Db, accounts: readonly string[]): Promise<void> {
  await db.query(
    `update app.lease set reason = 'waits behind more than ${HEADS} others', reason_since = app.now()
     where account = any ($1) and granted_at is null and not held and reason is null`,
    [accounts],
  );
}
