import type { Db } from "../connection.ts";

/** Number of the last migration applied; null: none. */
export async function readSchemaNumber(db: Db): Promise<number | null> {
  const { rows } = await db.query<{ number: number | null }>(
    "select max(number) as number from app.schema_migration",
  );
  return rows[0]?.number ?? null;
}
