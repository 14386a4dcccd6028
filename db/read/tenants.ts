import { USE_HALF_LIFE_MS } from "../../core/limits.ts";
import type { Db } from "../connection.ts";

export interface TenantRow {
  readonly tenant: string;
  /** Without `cohort:`; null: nobody lends to it. */
  readonly cohort: string | null;
  /** Of its cohort, over all its tenants; null where there is none. */
  readonly cohort_slots: number | null;
  readonly slots: number;
  /** So many with what it borrows; null: all that is lent. */
  readonly most: number | null;
  readonly used: number;
  readonly waiting: number;
  readonly waiting_slots: number;
  /** Tries that were asked to give their slots back and have not yet. */
  readonly preempted: number;
  /** Slots in use on an average of late. */
  readonly recent: number;
  readonly core_hours: number;
  /** A day; null: any. */
  readonly quota: number | null;
  /** Until then its quota is used up; null: it is not. */
  readonly exhausted_until: Date | null;
}

/** Every tenant of the limits that are applied, by name. */
export async function readTenants(db: Db): Promise<TenantRow[]> {
  const { rows } = await db.query<TenantRow>(
    `select substr(a.key, 8) as tenant, a.cohort, c.slots as cohort_slots, a.slots, a.most, coalesce(u.used, 0)::int as used,
       coalesce(u.waiting, 0)::int as waiting, coalesce(u.waiting_slots, 0)::int as waiting_slots,
       coalesce(u.preempted, 0)::int as preempted,
       app.recent_use(substr(a.key, 8), $1) as recent, app.core_hours_today(substr(a.key, 8)) as core_hours, a.core_hours as quota,
       case when a.exhausted_until > app.now() then a.exhausted_until end as exhausted_until
     from app.account a
     left join app.account c on c.key = 'cohort:' || a.cohort
     left join (
       select k.key, sum(l.slots) filter (where l.granted_at is not null) as used,
         count(*) filter (where l.granted_at is null) as waiting, sum(l.slots) filter (where l.granted_at is null) as waiting_slots,
         count(*) filter (where l.granted_at is not null and l.preempted_at is not null) as preempted
       from app.lease l cross join unnest(l.limits) as k(key)
       where l.limits <> '{}' and k.key like 'tenant:%' group by k.key
     ) u on u.key = a.key
     where a.key like 'tenant:%' order by a.key`,
    [USE_HALF_LIFE_MS],
  );
  return rows;
}
