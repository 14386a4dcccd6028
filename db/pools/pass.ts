import type pg from "pg";
import { allocate, type AccountView, type Allocation } from "../../core/allocate.ts";
import { behindOthersInWords, givesBackInWords, takingBackInWords } from "../../core/allocate-words.ts";
import { chooseHolders } from "../../core/reclaim.ts";
import { transaction, type Db } from "../connection.ts";
import {
  anyWaiting,
  HEADS,
  readAccounts,
  readDialNow,
  readHolders,
  readLaneKeys,
  readLanes,
  readLimits,
} from "./pass-rows.ts";
import { preempt } from "./preempt.ts";

/** A run's own `advance` usually takes its grants within this time; then the outbox tells it. */
const TELL_AFTER_MS = 20;

/** Grants in one round trip what came free to those who wait for nothing but a pool, or a place; `rest`: a pass is wanted. */
export async function quickPass(db: Db): Promise<{ readonly granted: number; readonly rest: boolean }> {
  const { rows } = await db.query<{ granted: number; rest: boolean }>("select * from app.quick_pass()");
  return rows[0]!;
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
    const keys = await readLaneKeys(client);
    const accounts = await readAccounts(client, keys);
    const lanes = await readLanes(client, keys, accounts);
    const now = await readDialNow(client);
    const answer = allocate(accounts, lanes, now?.dial ?? null, now?.used ?? 0);
    const reasons = new Map([...answer.reasons, ...(await takeBack(client, accounts, answer))]);
    const before = new Map(lanes.flatMap(({ heads }) => heads.map((head) => [head.id, head.reason])));
    const changed = new Map([...reasons].filter(([id, reason]) => before.get(id) !== reason));
    if (answer.granted.length > 0) await grant(client, answer.granted);
    if (changed.size > 0) await explain(client, changed);
    await explainRest(client, [...new Set(keys.map(({ account }) => account))]);
    await keepOwed(client, accounts, answer.owed);
    return answer.granted.length;
  });
}

/** Asks for what owners wait for; answers the reasons of those for whom it comes. */
async function takeBack(
  db: Db,
  accounts: readonly AccountView[],
  { reclaims }: Allocation,
): Promise<ReadonlyMap<string, string>> {
  if (reclaims.length === 0) return new Map();
  const holders = await readHolders(db, [...new Set(reclaims.map(({ from }) => from))]);
  // Borrowers that nobody waits for have no account among those read.
  const known = new Set(accounts.map(({ key }) => key));
  const missing = new Set(holders.flatMap(({ limits }) => limits.filter((key) => !known.has(key))));
  const all = [...accounts, ...(await readLimits(db, [...missing]))];
  const { asked, helped } = chooseHolders(reclaims, all, holders);
  if (asked.size > 0)
    await preempt(
      db,
      [...asked].map(([id, owner]) => ({ id, why: givesBackInWords(owner) })),
    );
  return new Map(
    [...helped].flatMap(({ owner, from, slots, ids }) =>
      ids.map((id): [string, string] => [id, takingBackInWords(owner, from, slots)]),
    ),
  );
}

async function keepOwed(db: Db, accounts: readonly AccountView[], owed: Allocation["owed"]): Promise<void> {
  const changed = accounts.filter(({ key, owed: was = [0, 0] }) => {
    const now = owed.get(key);
    return now !== undefined && (now[0] !== was[0] || now[1] !== was[1]);
  });
  if (changed.length === 0) return;
  await db.query(
    `update app.account a set owed = array[r.lowest, r.middle]
     from unnest($1::text[], $2::integer[], $3::integer[]) as r(key, lowest, middle) where a.key = r.key`,
    [
      changed.map(({ key }) => key),
      changed.map(({ key }) => owed.get(key)![0]),
      changed.map(({ key }) => owed.get(key)![1]),
    ],
  );
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
    `update app.lease l set reason = k.reason, reason_since = app.now()
     from unnest($1::text[], $2::text[]) as k(account, reason)
     where l.account = k.account and l.granted_at is null and not l.held and l.reason is null`,
    [accounts, accounts.map((account) => behindOthersInWords(account, HEADS))],
  );
}
