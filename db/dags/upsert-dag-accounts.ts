import type { Db } from "../connection.ts";

/** How much of a DAG may be under way at once, over all its runs. */
export interface DagLimits {
  readonly dag_id: string;
  readonly runs: number;
  /** Tries; null: as many as pools allow. */
  readonly tasks: number | null;
  /** Tries of single tasks, by their ids. */
  readonly by_task: Readonly<Record<string, number>>;
}

/** Opens, resizes and closes the accounts of these DAGs; what is under way and what waits draws on them from now on. */
export async function upsertDagAccounts(db: Db, dags: readonly DagLimits[]): Promise<void> {
  await db.query("select app.set_dag_limits($1)", [JSON.stringify(dags)]);
}
