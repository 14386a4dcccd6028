import type { Db } from "../connection.ts";

export interface PoolChange {
  /** `pool:NAME` */
  readonly account: string;
  readonly slots: number;
  /** null: as it was. */
  readonly description: string | null;
  readonly who: string;
}

/** Makes or resizes a pool, with its audit row. A pool may shrink under its work: nothing is stopped, nothing granted. */
export async function setPool(db: Db, change: PoolChange): Promise<{ created: boolean }> {
  const { rows } = await db.query<{ created: boolean }>(
    `with before as (select slots from app.account where key = $1),
     changed as (
       insert into app.account as a (key, slots, description) values ($1, $2, coalesce($3, ''))
       on conflict (key) do update set slots = excluded.slots, description = coalesce($3, a.description)),
     logged as (
       insert into app.audit (who, action, detail) values ($4, 'set_pool',
         jsonb_build_object('account', $1::text, 'slots', $2::integer, 'before', (select slots from before))))
     select not exists (select from before) as created`,
    [change.account, change.slots, change.description, change.who],
  );
  return { created: rows[0]!.created };
}

/** Deletes a pool that has no work, with its audit row; false when it has some, or does not exist. */
export async function deletePool(db: Db, account: string, who: string): Promise<boolean> {
  const { rows } = await db.query<{ deleted: boolean }>(
    `with gone as (
       delete from app.account a where a.key = $1 and not exists (select from app.lease l where l.account = $1)
       returning a.slots),
     logged as (
       insert into app.audit (who, action, detail)
       select $2, 'delete_pool', jsonb_build_object('account', $1::text, 'before', slots) from gone)
     select exists (select from gone) as deleted`,
    [account, who],
  );
  return rows[0]!.deleted;
}
