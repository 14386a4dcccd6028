import { createRoute } from "@hono/zod-openapi";
import { groupBy } from "../core/group-by.ts";
import { loansIn } from "../core/lending.ts";
import { readTenants, type TenantRow } from "../db/read/tenants.ts";
import { TenantList, type Loan, type Tenant } from "./contracts-tenants.ts";
import type { AppDeps } from "./deps.ts";
import { newRoutes } from "./requests.ts";
import { isoOrNull, json } from "./shape.ts";

const listTenants = createRoute({
  method: "get",
  path: "/tenants",
  summary: "Tenants with their slots, use and quota, and who lends to whom now",
  responses: { 200: json(TenantList, "All tenants") },
});

export const tenantRoutes = (deps: AppDeps) =>
  newRoutes().openapi(listTenants, async (c) => {
    const rows = await readTenants(deps.reader ?? deps.db);
    const loans = loansOf(rows);
    return c.json({ tenants: rows.map((row) => shapeTenant(row, loans)), loans }, 200);
  });

function loansOf(rows: readonly TenantRow[]): Loan[] {
  const cohorts = groupBy(
    rows.filter((row) => row.cohort !== null),
    (row) => row.cohort!,
  );
  return [...cohorts].flatMap(([cohort, members]) =>
    loansIn(members, members[0]!.cohort_slots ?? 0).map((loan) => ({ ...loan, cohort })),
  );
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function shapeTenant(row: TenantRow, loans: readonly Loan[]): Tenant {
  const lent = loans.filter((loan) => loan.from === row.tenant);
  return {
    name: row.tenant,
    cohort: row.cohort,
    slots: row.slots,
    most: row.most,
    used: row.used,
    borrowed: Math.max(0, row.used - row.slots),
    lent: lent.reduce((sum, { slots }) => sum + slots, 0),
    waiting: row.waiting,
    waitingSlots: row.waiting_slots,
    preempted: row.preempted,
    recentUse: rounded(row.recent),
    share: row.slots === 0 ? null : rounded((row.used + row.recent) / row.slots),
    coreHoursToday: rounded(row.core_hours),
    coreHoursQuota: row.quota,
    exhaustedUntil: isoOrNull(row.exhausted_until),
  };
}
