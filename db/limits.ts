import { placeOfRun, type LimitsFile, type Placed, type PlaceNumbered } from "../core/limits-file.ts";
import type { RunType } from "../core/states.ts";
import type { Db } from "./connection.ts";

/** The limits file that is in force. */
export interface LimitsRow {
  readonly id: number;
  readonly at: Date;
  readonly who: string;
  readonly spec: LimitsFile;
}

/** Null: none has been applied yet. */
export async function readLimits(db: Db): Promise<LimitsRow | null> {
  const { rows } = await db.query<LimitsRow>(
    "select id::float8 as id, at, who, spec from app.limits order by id desc limit 1",
  );
  return rows[0] ?? null;
}

/** A run that has ended, and is to go on, gets its place by the limits in force: while it was closed nobody moved it. */
export async function placeClosedRun(db: Db, run: number): Promise<void> {
  const { rows } = await db.query<
    Placed & PlaceNumbered & { runType: RunType; caller: string | null; rules: LimitsFile["rules"] | null }
  >(
    `select r.dag_id as "dagId", r.run_type as "runType", r.triggered_by as caller, r.tenant, r.class, d.owner, d.tags,
            (select l.spec -> 'rules' from app.limits l order by l.id desc limit 1) as rules
     from app.dag_run r join app.dag d on d.dag_id = r.dag_id
     where r.run = $1 and r.state not in ('queued', 'running')`,
    [run],
  );
  const [row] = rows;
  if (row === undefined) return;
  const { tenant, class: number } = placeOfRun({ rules: row.rules ?? [] }, row, row);
  if (tenant === row.tenant && number === row.class) return;
  await db.query(
    "update app.dag_run set tenant = $2, class = $3 where run = $1 and state not in ('queued', 'running')",
    [run, tenant, number],
  );
}
