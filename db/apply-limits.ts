import { adhocOf, isUnchanged, planLimits, type LimitsPlan, type Move } from "../core/limits-diff.ts";
import type { LimitsFile } from "../core/limits-file.ts";
import type { Db, Pool } from "./connection.ts";
import { transaction } from "./connection.ts";
import { lockStoring } from "./dags/lock-storing.ts";
import { storableJson } from "./json.ts";
import type { LimitsRow } from "./limits.ts";
import { readLimitsNow } from "./limits-now.ts";

export interface ApplyLimits {
  readonly file: LimitsFile;
  readonly who: string;
  /** Only if this is in force: an id, or null for none; undefined: whatever is. */
  readonly ifCurrent: number | null | undefined;
}

export type LimitsApplied =
  | { readonly kind: "applied"; readonly row: Omit<LimitsRow, "spec">; readonly plan: LimitsPlan }
  /** It is in force as it is: nothing was written. */
  | { readonly kind: "unchanged"; readonly row: LimitsRow | null; readonly plan: LimitsPlan }
  /** Another one is in force than the caller knows. */
  | { readonly kind: "outdated"; readonly row: LimitsRow | null };

/**
 * Puts a limits file in force, in one transaction: its accounts, the tenant and class of all DAGs and of runs that are
 * queued or running, and what their tries draw on. A pass of the allocator is wanted after it.
 */
export async function applyLimits(pool: Pool, given: ApplyLimits): Promise<LimitsApplied> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyOnce(pool, given);
    } catch (error) {
      // Tries that end together take their leases in another order than this does.
      const isDeadlock = error instanceof Error && "code" in error && error.code === "40P01";
      if (!isDeadlock || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** Each costs a second, until PostgreSQL sees the deadlock. */
const ATTEMPTS = 5;

async function applyOnce(pool: Pool, { file, who, ifCurrent }: ApplyLimits): Promise<LimitsApplied> {
  return await transaction(pool, async (db) => {
    // New and changed DAGs get their places by the file in force: not while that changes.
    await lockStoring(db);
    // DAGs before the allocator, as whoever creates runs; behind its lock no run is made meanwhile.
    await db.query("select from app.dag order by dag_id for update");
    await db.query("select pg_advisory_xact_lock(72, 2)");
    const { row, now } = await readLimitsNow(db);
    if (ifCurrent !== undefined && ifCurrent !== (row?.id ?? null)) return { kind: "outdated", row };
    const plan = planLimits(now, file);
    if (isUnchanged(now, file, plan)) return { kind: "unchanged", row, plan };
    await moveDags(db, plan.dags);
    await moveRuns(db, plan.runs);
    await writeAccounts(db, file);
    const { changes, dags, runs } = plan;
    if (runs.length > 0 || changes.some(({ what }) => ACCOUNTS.has(what))) {
      await db.query(
        `select app.renew_limits(array(select distinct dag_id from app.dag_run where state in ('queued', 'running')))`,
      );
    }
    const { rows } = await db.query<Omit<LimitsRow, "spec">>(
      "insert into app.limits (who, spec) values ($1, $2) returning id::float8 as id, at, who",
      [who, storableJson(file)],
    );
    await db.query("insert into app.audit (who, action, detail) values ($1, 'apply_limits', $2)", [
      who,
      storableJson({
        id: rows[0]!.id,
        before: row?.id ?? null,
        changes: changes.filter(({ what }) => what !== "dag"),
        dags: dags.length,
        runs: countOf(runs),
      }),
    ]);
    return { kind: "applied", row: rows[0]!, plan };
  });
}

/** Changes of what tries draw on. */
const ACCOUNTS: ReadonlySet<string> = new Set(["pool", "cohort", "tenant"]);

/** How many runs get another tenant or class. */
export const countOf = (runs: LimitsPlan["runs"]): number => runs.reduce((sum, { of }) => sum + of.count, 0);

const rowsOf = <Of>(moves: readonly Move<Of>[]): string =>
  JSON.stringify(moves.map(({ of, to }) => ({ ...of, to_tenant: to.tenant, to_class: to.class })));

async function moveDags(db: Db, moves: LimitsPlan["dags"]): Promise<void> {
  if (moves.length === 0) return;
  await db.query(
    `update app.dag d set tenant = m.to_tenant, class = m.to_class, updated_at = app.now()
     from jsonb_to_recordset($1) as m("dagId" text, to_tenant text, to_class smallint) where d.dag_id = m."dagId"`,
    [rowsOf(moves)],
  );
}

async function moveRuns(db: Db, moves: LimitsPlan["runs"]): Promise<void> {
  if (moves.length === 0) return;
  // Leases before their runs, as when a run closes.
  await db.query(
    `select from app.lease l where l.run in (select r.run from app.dag_run r where r.dag_id = any ($1) and r.state in ('queued', 'running'))
     order by l.run, l.task_id, l.map_index, l.try for update`,
    [[...new Set(moves.map(({ of }) => of.dagId))]],
  );
  await db.query(
    `update app.dag_run r set tenant = l.to_tenant, class = l.to_class
     from (
       select o.run, m.to_tenant, m.to_class
       from app.dag_run o join jsonb_to_recordset($1)
         as m("dagId" text, "runType" text, caller text, tenant text, class smallint, to_tenant text, to_class smallint)
         on o.dag_id = m."dagId" and o.run_type = m."runType" and o.class = m.class and o.tenant is not distinct from m.tenant
           and (m."runType" <> 'manual' or o.triggered_by is not distinct from m.caller)
       where o.state in ('queued', 'running') order by o.run for update of o
     ) l
     where r.run = l.run`,
    [rowsOf(moves)],
  );
}

/** Pools that the file does not name stay; of the other kinds, what it does not name goes. */
async function writeAccounts(db: Db, file: LimitsFile): Promise<void> {
  const rows = [
    ...Object.entries(file.pools).flatMap(([name, { slots, description, scheduledFloor }]) => {
      const adhoc = adhocOf(slots, scheduledFloor);
      return [
        { key: `pool:${name}`, slots, description },
        ...(adhoc === null ? [] : [{ key: `adhoc:${name}`, slots: adhoc }]),
      ];
    }),
    ...Object.entries(file.cohorts).map(([name, { slots }]) => ({ key: `cohort:${name}`, slots })),
    ...Object.entries(file.tenants).map(([name, { slots, cohort, most, coreHoursPerDay }]) => ({
      key: `tenant:${name}`,
      slots,
      cohort,
      most,
      core_hours: coreHoursPerDay,
    })),
  ];
  await db.query(
    `insert into app.account as a (key, slots, description, cohort, most, core_hours)
     select w.key, w.slots, coalesce(w.description, ''), w.cohort, w.most, w.core_hours
     from jsonb_to_recordset($1)
       as w(key text, slots integer, description text, cohort text, most integer, core_hours double precision)
     order by w.key
     on conflict (key) do update
       set slots = excluded.slots, cohort = excluded.cohort, most = excluded.most, core_hours = excluded.core_hours,
           description = case when excluded.description = '' then a.description else excluded.description end,
           -- Whether a day's new quota is used up is found out by the next look (app.roll_spent).
           exhausted_until = case when excluded.core_hours is not distinct from a.core_hours then a.exhausted_until end`,
    [JSON.stringify(rows)],
  );
  await db.query(
    `delete from app.account where key like any (array['adhoc:%', 'tenant:%', 'cohort:%']) and key <> all ($1)`,
    [rows.map(({ key }) => key)],
  );
}
