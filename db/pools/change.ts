import { transaction, type Db, type Pool } from "../connection.ts";

export interface PoolChange {
  /** `pool:NAME` */
  readonly account: string;
  readonly slots: number;
  /** null: as it was. */
  readonly description: string | null;
  readonly who: string;
}

/**
 * Makes or resizes a pool, with its audit row. A pool may shrink under its work: nothing is stopped, nothing granted. What
 * the limits file keeps from runs by hand stays as large, as far as the pool has it.
 */
export async function setPool(pool: Pool, change: PoolChange): Promise<{ created: boolean }> {
  return await transaction(pool, async (db) => {
    // The limits file may be applied at the same time.
    await db.query("select pg_advisory_xact_lock(72, 2)");
    const { rows } = await db.query<{ created: boolean; keeps: boolean }>(
      `with before as (select slots from app.account where key = $1),
       changed as (
         insert into app.account as a (key, slots, description) values ($1, $2, coalesce($3, ''))
         on conflict (key) do update set slots = excluded.slots, description = coalesce($3, a.description)),
       floor as (
         select (l.spec #>> array['pools', substr($1, 6), 'scheduledFloor'])::integer as slots
         from app.limits l order by l.id desc limit 1),
       kept as (
         insert into app.account (key, slots)
         select 'adhoc:' || substr($1, 6), greatest(0, $2 - f.slots) from floor f where f.slots > 0
         on conflict (key) do update set slots = excluded.slots
         returning key),
       logged as (
         insert into app.audit (who, action, detail) values ($4, 'set_pool',
           jsonb_build_object('account', $1::text, 'slots', $2::integer, 'before', (select slots from before))))
       select not exists (select from before) as created, exists (select from kept) as keeps`,
      [change.account, change.slots, change.description, change.who],
    );
    const { created, keeps } = rows[0]!;
    // What waited for it before it was there draws on all of it.
    if (created && keeps) {
      await db.query(
        `select app.renew_limits(array(
           select distinct r.dag_id from app.lease l join app.dag_run r on r.run = l.run where l.account = $1))`,
        [change.account],
      );
    }
    return { created };
  });
}

/** Deletes a pool that has no work, with its audit row; false when it has some, or does not exist. */
export async function deletePool(db: Db, account: string, who: string): Promise<boolean> {
  const { rows } = await db.query<{ deleted: boolean }>(
    `with gone as (
       delete from app.account a where a.key = $1 and not exists (select from app.lease l where l.account = $1)
       returning a.slots),
     kept as (
       delete from app.account where key = 'adhoc:' || substr($1, 6) and exists (select from gone)),
     logged as (
       insert into app.audit (who, action, detail)
       select $2, 'delete_pool', jsonb_build_object('account', $1::text, 'before', slots) from gone)
     select exists (select from gone) as deleted`,
    [account, who],
  );
  return rows[0]!.deleted;
}
