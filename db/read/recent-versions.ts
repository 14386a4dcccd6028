import type { Db } from "../connection.ts";

export interface RecentVersions {
  readonly dag_id: string;
  /** Versions of the last hour. */
  readonly versions: number;
  /** How many different codes they have. */
  readonly codes: number;
}

/** Of these DAGs, those that got `least` versions or more within the last hour; no more than 100 are counted. */
export async function readRecentVersions(
  db: Db,
  dagIds: readonly string[],
  least: number,
): Promise<RecentVersions[]> {
  const { rows } = await db.query<RecentVersions>(
    `select d.dag_id, r.versions, r.codes
       from unnest($1::text[]) as d (dag_id)
      cross join lateral (
        select count(*)::int as versions, count(distinct v.bundle_hash)::int as codes
          from (select created_at, bundle_hash from app.dag_version
                 where dag_id = d.dag_id order by number desc limit 100) as v
         where v.created_at > app.now() - interval '1 hour') as r
      where r.versions >= $2
      order by d.dag_id`,
    [dagIds, least],
  );
  return rows;
}
