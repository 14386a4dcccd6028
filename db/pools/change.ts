import type pg from "pg";
import { Refused } from "../../core/errors.ts";
import { transaction, type Db } from "../connection.ts";

export interface PoolChange {
  /** Without `pool:`. */
  readonly name: string;
  readonly slots: number;
  /** null: as it was. */
  readonly description: string | null;
  /** Slots that runs by hand cannot take; null: as it was. */
  readonly floor: number | null;
  readonly who: string;
}

/**
 * Makes or resizes a pool, with its audit row. A pool may shrink under its work: nothing is stopped, nothing granted.
 * Its floor is the account `adhoc:POOL`, what runs by hand may take: slots less the floor, and none without a floor.
 * Throws Refused (`floor_above_slots`).
 */
export async function setPool(pool: pg.Pool, change: PoolChange): Promise<{ created: boolean }> {
  const { name, slots, description, who } = change;
  return await transaction(pool, async (db) => {
    // Waiting requests stand still, and none comes that knows the floor of before.
    await db.query("select pg_advisory_xact_lock(72, 2)");
    const before = await readBefore(db, name);
    const floor = change.floor ?? before.floor;
    if (floor > slots) {
      throw new Refused(
        "floor_above_slots",
        `pool "${name}": its scheduled floor is ${floor}, more than its ${slots} slots: expected at most ${slots}; set scheduledFloor too`,
      );
    }
    await db.query(
      `insert into app.account as a (key, slots, description) values ($1, $2, coalesce($3, ''))
       on conflict (key) do update set slots = excluded.slots, description = coalesce($3, a.description)`,
      [`pool:${name}`, slots, description],
    );
    await keepFloor(db, name, slots, floor, before.floor);
    const detail = {
      account: `pool:${name}`,
      slots,
      before: before.slots,
      ...((floor > 0 || before.floor > 0) && { scheduledFloor: floor }),
    };
    await db.query("insert into app.audit (who, action, detail) values ($1, 'set_pool', $2)", [
      who,
      JSON.stringify(detail),
    ]);
    return { created: before.slots === null };
  });
}

async function readBefore(db: Db, name: string): Promise<{ slots: number | null; floor: number }> {
  const { rows } = await db.query<{ slots: number; floor: number }>(
    `select a.slots, greatest(a.slots - coalesce(h.slots, a.slots), 0) as floor
     from app.account a left join app.account h on h.key = $2 where a.key = $1`,
    [`pool:${name}`, `adhoc:${name}`],
  );
  return rows[0] ?? { slots: null, floor: 0 };
}

async function keepFloor(db: Db, name: string, slots: number, floor: number, before: number): Promise<void> {
  if (floor > 0)
    await db.query(
      `insert into app.account (key, slots, description) values ($1, $2, 'What runs by hand may take of the pool')
       on conflict (key) do update set slots = excluded.slots`,
      [`adhoc:${name}`, slots - floor],
    );
  else await db.query("delete from app.account where key = $1", [`adhoc:${name}`]);
  if (floor > 0 === before > 0) return;
  // What runs by hand there draws on it from now on, or no more.
  await db.query(
    `select app.renew_limits(array_agg(distinct r.dag_id))
     from app.lease l join app.dag_run r on r.run = l.run where l.account = $1 and r.run_type = 'manual'`,
    [`pool:${name}`],
  );
}

/** Deletes a pool that has no work, with its floor and its audit row; false when it has some, or does not exist. */
export async function deletePool(pool: pg.Pool, name: string, who: string): Promise<boolean> {
  return await transaction(pool, async (db) => {
    await db.query("select pg_advisory_xact_lock(72, 2)");
    const { rows } = await db.query<{ slots: number }>(
      "delete from app.account a where a.key = $1 and not exists (select from app.lease l where l.account = $1) returning a.slots",
      [`pool:${name}`],
    );
    if (rows[0] === undefined) return false;
    await db.query("delete from app.account where key = $1", [`adhoc:${name}`]);
    await db.query("insert into app.audit (who, action, detail) values ($1, 'delete_pool', $2)", [
      who,
      JSON.stringify({ account: `pool:${name}`, before: rows[0].slots }),
    ]);
    return true;
  });
}
