/** How the instances of mapped tasks ran in a DAG's last finished run. */
import type { FanOut } from "../../core/advice.ts";
import type { Db } from "../connection.ts";

/** Instances of a task that its figures are taken from, the first ones: enough for a median. Of 20,000, among a million cells, 3 ms. */
const SAMPLE = 2_000;

export interface LastFanOuts {
  readonly runId: string;
  readonly fanOuts: readonly FanOut[];
}

interface Row {
  readonly run_id: string;
  readonly task_id: string;
  readonly instances: number;
  readonly median_ms: number;
  readonly waited: number;
}

/** Of these tasks, those that had `least` instances or more that succeeded; null when there are none, or its run was of another version. */
export async function readLastFanOuts(
  db: Db,
  dagId: string,
  version: number,
  taskIds: readonly string[],
  least: number,
): Promise<LastFanOuts | null> {
  if (taskIds.length === 0) return null;
  const { rows } = await db.query<Row>(LAST_FAN_OUTS, [dagId, version, taskIds, least, SAMPLE]);
  const [first] = rows;
  if (first === undefined) return null;
  const fanOuts = rows.map((row) => ({
    taskId: row.task_id,
    instances: row.instances,
    medianMs: row.median_ms,
    waited: row.waited,
  }));
  return { runId: first.run_id, fanOuts };
}

export const LAST_FAN_OUTS = `
  with last as materialized (
    select r.run, r.run_id, r.version from app.dag_run r
    where r.dag_id = $1 and r.state in ('success', 'failed') order by r.logical_at desc, r.run desc limit 1
  )
  select l.run_id, t.task_id, n.instances, c.median_ms, c.waited
  from last l cross join unnest($3::text[]) as t(task_id)
  cross join lateral (
    select x.map_index + 1 as instances from app.cell x
    where x.run = l.run and x.task_id = t.task_id and x.map_index >= 0 and x.state = 'success'
    order by x.map_index desc limit 1) n
  cross join lateral (
    select count(*) as sampled,
      (extract(epoch from percentile_cont(0.5) within group (order by s.ended_at - s.started_at)) * 1000)::float8 as median_ms,
      coalesce(extract(epoch from sum(s.started_at - s.asked_at))
        / nullif(extract(epoch from sum(s.ended_at - s.asked_at)), 0), 0)::float8 as waited
    from (
      select least(x.queued_at, x.started_at) as asked_at, x.started_at, x.ended_at from app.cell x
      where x.run = l.run and x.task_id = t.task_id and x.map_index >= 0 and x.state = 'success'
        and x.started_at is not null and x.ended_at is not null
      limit $5) s) c
  where l.version = $2 and c.sampled >= $4
  order by t.task_id`;
