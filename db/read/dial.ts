import { chooseBelow } from "../../core/reclaim.ts";
import type { Db } from "../connection.ts";
import type { DialBounds } from "../pools/dial.ts";
import { readHolders } from "../pools/pass-rows.ts";

export interface DialLoad {
  /** Tries that hold slots. */
  readonly running: number;
  /** Tries that wait and that bounds like these keep from beginning. */
  readonly held: number;
}

export async function readDialLoad(
  db: Db,
  { tries, belowClass, belowPriority }: DialBounds,
): Promise<DialLoad> {
  const { rows } = await db.query<DialLoad>(
    `select r.running, (
       select count(*) from app.lease l
       where l.granted_at is null and l.task_id <> ''
         and (l.class < $2::smallint or l.priority < $3::integer or r.running >= $1::integer))::integer as held
     from (select count(*)::integer as running from app.lease where granted_at is not null and task_id <> '') r`,
    [tries, belowClass, belowPriority],
  );
  return rows[0]!;
}

/** Tries under way that such a dial would ask to give their slots back. */
export async function countBelow(db: Db, bounds: DialBounds): Promise<number> {
  return chooseBelow({ ...bounds, who: "", reason: "" }, await readHolders(db, null)).length;
}

/** The number of its last turn; 0 when it was never turned. */
export async function readDialTurn(db: Db): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    "select coalesce(max(id), 0)::double precision as id from app.dial",
  );
  return rows[0]!.id;
}
