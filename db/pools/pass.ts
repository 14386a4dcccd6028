import type pg from "pg";
import { allocate, type WaitingRequest } from "../../core/allocate.ts";
import { transaction, type Db } from "../connection.ts";

/** Heads read per account and pass; those behind them keep the reason of the last one looked at. */
const HEADS = 256;
/** A run's own `advance` usually takes its grants within this time; then the outbox tells it. */
const TELL_AFTER_MS = 20;

interface AccountRow {
  key: string;
  slots: number | null;
  used: number;
}

interface HeadRow {
  id: string;
  account: string;
  slots: number;
  reason: string | null;
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
    const accounts = await accountsWithWaiting(client);
    const heads = await headsOf(client, accounts);
    const granted: string[] = [];
    const reasons = new Map<string, string>();
    for (const account of accounts) {
      const own = heads.filter((head) => head.account === account.key);
      const answer = allocate(account, own.map(toWaiting));
      granted.push(...answer.granted);
      for (const head of own) {
        const reason = answer.reasons.get(head.id);
        if (reason !== undefined && reason !== head.reason) reasons.set(head.id, reason);
      }
    }
    if (granted.length > 0) await grant(client, granted);
    if (reasons.size > 0) await explain(client, reasons);
    await explainRest(
      client,
      accounts.map((account) => account.key),
    );
    return granted.length;
  });
}

const toWaiting = (row: HeadRow): WaitingRequest => ({ id: row.id, slots: row.slots });

async function anyWaiting(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ any: boolean }>(
    "select exists (select from app.lease where granted_at is null and not held) as any",
  );
  return rows[0]!.any;
}

/** A loose index scan over lease_waiting: one probe per account, however many wait. */
async function accountsWithWaiting(db: Db): Promise<AccountRow[]> {
  const { rows } = await db.query<AccountRow>(`
    with recursive waiting as (
      (select account from app.lease where granted_at is null and not held order by account limit 1)
      union all
      select (select l.account from app.lease l where l.granted_at is null and not l.held and l.account > w.account order by l.account limit 1)
      from waiting w where w.account is not null
    )
    select w.account as key, a.slots,
           coalesce((select sum(l.slots) from app.lease l where l.account = w.account and l.granted_at is not null), 0)::integer as used
    from waiting w left join app.account a on a.key = w.account
    where w.account is not null`);
  return rows;
}

async function headsOf(db: Db, accounts: readonly AccountRow[]): Promise<HeadRow[]> {
  const { rows } = await db.query<HeadRow>(
    `select l.ctid::text as id, l.account, l.slots, l.reason
     from unnest($1::text[]) as k(key)
     cross join lateral (
       select w.ctid, w.account, w.slots, w.reason, w.priority, w.seq from app.lease w
       where w.account = k.key and w.granted_at is null and not w.held
       order by w.priority desc, w.seq limit ${HEADS}
     ) l
     order by l.account, l.priority desc, l.seq`,
    [accounts.map((account) => account.key)],
  );
  return rows;
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
