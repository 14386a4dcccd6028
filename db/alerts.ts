import type { Db } from "./connection.ts";

export interface AlertKey {
  readonly run: number;
  readonly task_id: string;
  readonly map_index: number;
  readonly try: number;
  /** `queued_too_long`: of a run as a whole, whose task_id is empty. */
  readonly kind: "wait_timeout" | "queued_too_long";
}

export interface AlertRow extends AlertKey {
  readonly message: string;
  readonly at: Date;
  /** With this one. */
  readonly attempts: number;
  readonly dag_id: string;
  readonly run_id: string;
  readonly owner: string;
}

/** Takes alerts that are due for `holdMs`; who dies with them is followed by another. */
export async function takeAlerts(db: Db, limit: number, holdMs: number): Promise<readonly AlertRow[]> {
  const { rows } = await db.query<AlertRow>("select * from app.due_alerts($1, $2)", [limit, holdMs]);
  return rows;
}

const WHERE = "run = $1 and task_id = $2 and map_index = $3 and try = $4 and kind = $5";
const valuesOf = ({ run, task_id, map_index, try: number, kind }: AlertKey) => [
  run,
  task_id,
  map_index,
  number,
  kind,
];

export async function alertSent(db: Db, key: AlertKey): Promise<void> {
  await db.query(`update app.alert set sent_at = app.now(), error = null where ${WHERE}`, valuesOf(key));
}

/** `againInMs` null: it is given up. */
export async function alertFailed(
  db: Db,
  key: AlertKey,
  error: string,
  againInMs: number | null,
): Promise<void> {
  await db.query(
    `update app.alert set error = $6, given_up = $7::double precision is null,
            next_at = app.now() + make_interval(secs => coalesce($7::double precision, 0) / 1000) where ${WHERE}`,
    [...valuesOf(key), error, againInMs],
  );
}
