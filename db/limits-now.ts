import { NO_LIMITS } from "../core/limits-file.ts";
import type { DagNow, LimitsNow, PoolNow, RunsNow } from "../core/limits-diff.ts";
import type { Db } from "./connection.ts";
import { readLimits, type LimitsRow } from "./limits.ts";

interface AccountRow {
  readonly kind: "pool" | "adhoc" | "tenant" | "cohort";
  readonly name: string;
  readonly slots: number;
  readonly description: string;
  readonly cohort: string | null;
  readonly most: number | null;
  readonly core_hours: number | null;
}

/** All that a limits file is compared with. */
export async function readLimitsNow(db: Db): Promise<{ row: LimitsRow | null; now: LimitsNow }> {
  const row = await readLimits(db);
  const { rows: accounts } = await db.query<AccountRow>(
    `select split_part(key, ':', 1) as kind, substr(key, strpos(key, ':') + 1) as name, slots, description, cohort, most, core_hours
     from app.account where key like any (array['pool:%', 'adhoc:%', 'tenant:%', 'cohort:%']) order by key`,
  );
  const { rows: dags } = await db.query<DagNow>(
    `select dag_id as "dagId", owner, tags, tenant, class from app.dag order by dag_id`,
  );
  const { rows: runs } = await db.query<RunsNow>(
    `select dag_id as "dagId", run_type as "runType", case when run_type = 'manual' then triggered_by end as caller, tenant, class,
            count(*)::integer as count
     from app.dag_run where state in ('queued', 'running') group by 1, 2, 3, 4, 5`,
  );
  const of = <T>(kind: AccountRow["kind"], read: (account: AccountRow) => T): Record<string, T> =>
    Object.fromEntries(
      accounts.filter((account) => account.kind === kind).map((account) => [account.name, read(account)]),
    );
  const adhoc = new Map(
    accounts.flatMap(({ kind, name, slots }) => (kind === "adhoc" ? [[name, slots]] : [])),
  );
  return {
    row,
    now: {
      file: row?.spec ?? NO_LIMITS,
      pools: of("pool", ({ name, slots, description }): PoolNow => ({
        slots,
        description,
        adhoc: adhoc.get(name) ?? null,
      })),
      cohorts: of("cohort", ({ slots }) => ({ slots })),
      tenants: of("tenant", ({ slots, cohort, most, core_hours }) => ({
        slots,
        ...(cohort !== null && { cohort }),
        ...(most !== null && { most }),
        ...(core_hours !== null && { coreHoursPerDay: core_hours }),
      })),
      dags,
      runs,
    },
  };
}
