import type { Db } from "../connection.ts";

/** The accounts of the DAGs' active runs, with their limits. */
export async function upsertRunAccounts(
  db: Db,
  rows: readonly { readonly key: string; readonly slots: number }[],
): Promise<void> {
  await db.query(
    `insert into app.account (key, slots)
     select * from unnest($1::text[], $2::integer[]) as r (key, slots)
      where not exists (select from app.account a where a.key = r.key and a.slots = r.slots)
      order by key
     on conflict (key) do update set slots = excluded.slots`,
    [rows.map((row) => row.key), rows.map((row) => row.slots)],
  );
}
