import type pg from "pg";
import type { LimitsFile } from "../../core/limits-file.ts";

/** A limits file that says nothing but what is given. */
export const limitsFile = (given: Partial<LimitsFile>): LimitsFile => ({
  pools: {},
  cohorts: {},
  tenants: {},
  rules: [],
  adhoc: {},
  queues: {},
  rates: [],
  queued: {},
  ...given,
});

/** It is in force from now on; who has read another goes by that for some seconds. */
export async function applyLimits(pool: pg.Pool, file: LimitsFile): Promise<void> {
  await pool.query("insert into app.limits (who, spec) values ('test', $1)", [JSON.stringify(file)]);
}
