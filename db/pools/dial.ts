import type pg from "pg";
import { dialGivesBackInWords } from "../../core/allocate-words.ts";
import type { ClassNumber } from "../../core/limits.ts";
import { chooseBelow } from "../../core/reclaim.ts";
import { transaction, type Db } from "../connection.ts";
import { readDialNow, readHolders } from "./pass-rows.ts";
import { preempt } from "./preempt.ts";

/** Bounds of the emergency dial; all null: none. */
export interface DialBounds {
  /** Tries at once over all pools. */
  readonly tries: number | null;
  readonly belowClass: ClassNumber | null;
  readonly belowPriority: number | null;
}

export interface DialSetting extends DialBounds {
  readonly who: string;
  readonly reason: string;
}

export interface DialSet {
  readonly id: number;
  /** Tries that were asked to give their slots back. */
  readonly preempted: number;
}

/**
 * Turns the dial (B16); the statements that grant look at it under the same lock, so it is in force when this returns. With
 * `preempting`, tries under way that it would not let begin are handed back as `requeued`, their owners told.
 */
export async function setDial(pool: pg.Pool, setting: DialSetting, preempting: boolean): Promise<DialSet> {
  return await transaction(pool, async (db) => {
    await db.query("select pg_advisory_xact_lock(72, 2)");
    return await turn(db, setting, preempting, "set_dial");
  });
}

/** The bounds before the last turn are in force again; null when it was never turned. */
export async function undoDial(pool: pg.Pool, who: string): Promise<DialSet | null> {
  return await transaction(pool, async (db) => {
    await db.query("select pg_advisory_xact_lock(72, 2)");
    const [last, before] = await readDials(db, 2);
    if (last === undefined) return null;
    const bounds = before ?? { tries: null, belowClass: null, belowPriority: null };
    const reason = before === undefined ? "undone" : `undone, as before: ${before.reason}`;
    return await turn(db, { ...bounds, who, reason }, false, "undo_dial");
  });
}

const ROUNDS = 3;

async function turn(
  db: Db,
  { tries, belowClass, belowPriority, who, reason }: DialSetting,
  preempting: boolean,
  action: string,
): Promise<DialSet> {
  const { rows } = await db.query<{ id: number }>(
    "insert into app.dial (who, reason, tries, below_class, below_priority) values ($1, $2, $3, $4, $5) returning id",
    [who, reason, tries, belowClass, belowPriority],
  );
  const now = preempting ? await readDialNow(db) : null;
  let preempted = 0;
  // A lease whose row is written meanwhile, for another reason, is met the next time.
  for (let round = 0; now !== null && round < ROUNDS; round++) {
    const why = dialGivesBackInWords(now.dial);
    const chosen = chooseBelow(now.dial, await readHolders(db, null));
    if (chosen.length === 0) break;
    preempted += await preempt(
      db,
      chosen.map((id) => ({ id, why })),
    );
  }
  await db.query("insert into app.audit (who, action, detail) values ($1, $2, $3)", [
    who,
    action,
    JSON.stringify({ tries, belowClass, belowPriority, reason, preempted }),
  ]);
  return { id: rows[0]!.id, preempted };
}

export interface DialRow extends DialSetting {
  readonly id: number;
  readonly at: Date;
}

/** Its last turns, the newest first: that one is in force. */
export async function readDials(db: Db, limit: number): Promise<readonly DialRow[]> {
  const { rows } = await db.query<DialRow>(
    `select id, at, who, reason, tries, below_class as "belowClass", below_priority as "belowPriority"
     from app.dial order by id desc limit $1`,
    [limit],
  );
  return rows;
}
