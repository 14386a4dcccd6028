/** Rows of a large installation, made by SQL: what the API's figures are measured on. */
import type pg from "pg";
import type { SerialGraph } from "../core/graph.ts";
import { serialGraph, serialTask } from "../test/support/serial.ts";

export interface Sizes {
  /** DAGs of the list, each with `lastRuns` runs. */
  readonly dags: number;
  readonly lastRuns: number;
  /** DAGs with a year's worth of tasks: runs × tasks cells and tries each. */
  readonly bigDags: number;
  readonly runs: number;
  readonly tasks: number;
}

/** 999,000 task rows, as many tries, 209,990 runs. */
export const FULL: Sizes = { dags: 20_000, lastRuns: 10, bigDags: 111, runs: 90, tasks: 100 };
export const SMOKE: Sizes = { dags: 200, lastRuns: 3, bigDags: 2, runs: 20, tasks: 20 };

export const bigDag = (n: number): string => `big_${n}`;

export async function fill(pool: pg.Pool, sizes: Sizes, say: (line: string) => void): Promise<void> {
  const { dags, lastRuns, bigDags, runs, tasks } = sizes;
  await partitions(pool);
  await pool.query("insert into app.bundle (hash, code) values ('b', '')");
  const all = `(select 'team' || i % 40 || '_dag_' || i as dag_id, i from generate_series(1, ${dags}) i
     union all select 'big_' || i, i from generate_series(1, ${bigDags}) i)`;
  await pool.query(
    `insert into app.dag (dag_id, file, description, owner, tags, timetable, timetable_hash, max_active_runs, shard, paused, next_due_at)
     select dag_id, dag_id || '.ts', 'Loads what the source number ' || i || ' has', 'owner_' || i % 30,
       array['tag_' || i % 50, 'kind_' || i % 7], $1, 'h', 16, 0, i % 10 = 0, now() + i * interval '1 second'
     from ${all} x`,
    [{ kind: "cron", cron: "0 6 * * *", zone: "Europe/Berlin" }],
  );
  await pool.query(
    `insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file)
     select dag_id, 1, md5(dag_id), case when dag_id like 'big%' then $1::jsonb else $2::jsonb end, 'b', dag_id || '.ts' from ${all} x`,
    [JSON.stringify(graph(tasks)), JSON.stringify(graph(3))],
  );
  await pool.query(
    "update app.dag d set version = v.version from app.dag_version v where v.dag_id = d.dag_id",
  );
  say(`${dags + bigDags} DAGs`);
  await insertRuns(pool, "dag_id not like 'big%'", lastRuns, 0);
  await insertRuns(pool, "dag_id like 'big%'", runs, 30);
  await pool.query(
    `insert into app.cell (run, task_id, state, try, phase, queued_at, started_at, ended_at)
     select r.run, 'task_' || t, 'success', 1, 3, r.start_at, r.start_at + t * interval '1 second', r.start_at + t * interval '2 second'
     from app.dag_run r cross join generate_series(1, ${tasks}) t where r.dag_id like 'big%'`,
  );
  await pool.query(
    `insert into app.task_try (run, task_id, try, state, worker, queued_at, started_at, ended_at, output)
     select run, task_id, 1, 'success', 'w', queued_at, started_at, ended_at, '{"rows": 1}' from app.cell`,
  );
  say(`${bigDags * runs * tasks} task rows, as many tries, ${dags * lastRuns + bigDags * runs} runs`);
  await pool.query("vacuum analyze");
}

/** A run a day, the last one today; run numbers are the times of their making. */
async function insertRuns(pool: pg.Pool, which: string, runs: number, minute: number): Promise<void> {
  await pool.query(
    `with made as (
       insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version, triggered_by, started_at, ended_at)
       select (extract(epoch from at) * 1000)::bigint * 1000 + row_number() over (partition by at order by dag_id), dag_id,
         to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24-MI-SS"Z"'), 'scheduled', at, at, at + interval '1 day',
         case when (i + n) % 9 = 0 then 'failed' else 'success' end, version, 'schedule', at, at + interval '5 minutes'
       from (
         select d.dag_id, d.version, n, row_number() over (order by d.dag_id) as i,
           date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - n * interval '1 day' + ${minute} * interval '1 minute'
             -- A thousand numbers in each millisecond: DAGs that are due at one instant are made over a while.
             + (row_number() over (partition by n order by d.dag_id) / 900) * interval '1 second' as at
         from app.dag d cross join generate_series(1, ${runs}) n where ${which}) x
       returning dag_id, logical_at, run)
     insert into app.run_key (dag_id, logical_at, run) select dag_id, logical_at, run from made`,
  );
}

/** Of the months behind us too. */
async function partitions(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; lo: string; hi: string }>(
    `select to_char(m, 'YYYY_MM') as name, (extract(epoch from m at time zone 'UTC') * 1000)::bigint::text || '000' as lo,
       (extract(epoch from (m + interval '1 month') at time zone 'UTC') * 1000)::bigint::text || '000' as hi
     from generate_series(date_trunc('month', now() at time zone 'UTC') - interval '5 months',
                          date_trunc('month', now() at time zone 'UTC') - interval '2 months', interval '1 month') m`,
  );
  for (const { name, lo, hi } of rows) {
    for (const table of ["dag_run", "cell", "task_try", "task_event"]) {
      await pool.query(
        `create table app.${table}_${name} partition of app.${table} for values from (${lo}) to (${hi})`,
      );
    }
  }
}

const graph = (tasks: number): SerialGraph =>
  serialGraph(
    "x",
    Array.from({ length: tasks }, (_, i) => serialTask(`task_${i + 1}`, i === 0 ? [] : [i - 1])),
  );
