/** Rows put straight into the tables, for what the API shows. */
import type pg from "pg";
import type { SerialGraph } from "../../core/graph.ts";
import { runIdOf } from "../../core/ids.ts";
import { serialGraph, serialTask } from "../support/serial.ts";

interface DagGiven {
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly paused?: boolean;
  readonly active?: boolean;
  readonly file?: string;
  readonly tasks?: SerialGraph["tasks"];
}

/** A DAG with a first version; returns that version. */
export async function insertDag(pool: pg.Pool, dagId: string, given: DagGiven = {}): Promise<number> {
  const timetable = { kind: "cron", cron: "0 6 * * *", zone: "Europe/Berlin" };
  await pool.query(
    `insert into app.dag (dag_id, file, description, owner, tags, timetable, timetable_hash, max_active_runs, shard,
       paused, pause_reason, paused_by, active, next_due_at)
     values ($1, $2, $3, 'ann', $4, $5, 'h', 16, 0, $6, case when $6 then 'too slow' end, case when $6 then 'bob' end, $7,
       '2026-05-10T04:00:00Z')`,
    [
      dagId,
      given.file ?? `${dagId}.ts`,
      given.description ?? "",
      given.tags ?? [],
      timetable,
      given.paused ?? false,
      given.active ?? true,
    ],
  );
  return insertVersion(pool, dagId, given.tasks ?? [serialTask("extract"), serialTask("load", [0])]);
}

export async function insertVersion(
  pool: pg.Pool,
  dagId: string,
  tasks: SerialGraph["tasks"],
): Promise<number> {
  await pool.query("insert into app.bundle (hash, code) values ('b', '') on conflict do nothing");
  const { rows } = await pool.query<{ version: number }>(
    `with made as (
       insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file)
       select $1, coalesce(max(number), 0) + 1, md5($2::text), $2::jsonb, 'b', $1 || '.ts'
       from app.dag_version where dag_id = $1 returning version)
     update app.dag d set version = made.version, version_before = d.version, version_since = app.now()
     from made where d.dag_id = $1 returning d.version::float8 as version`,
    [dagId, JSON.stringify(serialGraph(dagId, tasks))],
  );
  return rows[0]!.version;
}

interface RunGiven {
  readonly state?: string;
  readonly runType?: string;
  readonly reason?: string;
  readonly conf?: unknown;
  readonly fork?: number;
}

/** A run of a DAG's current version; returns its number. */
export async function insertRun(
  pool: pg.Pool,
  dagId: string,
  date: string,
  given: RunGiven = {},
): Promise<number> {
  const at = new Date(date);
  const { rows } = await pool.query<{ run: number }>(
    `with made as (
       insert into app.run_key (dag_id, logical_at, fork, run) values ($1, $2, $3, app.new_run()) returning run)
     insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version, conf,
       triggered_by, started_at, reason)
     select made.run, $1, $4, $5, $2, $2, $2::timestamptz + interval '1 day', $6, d.version, $7, 'clock', $2, $8
     from made, app.dag d where d.dag_id = $1 returning run::float8 as run`,
    [
      dagId,
      at,
      given.fork ?? 0,
      runIdOf(at.getTime(), given.fork),
      given.runType ?? "scheduled",
      given.state ?? "success",
      given.conf ?? {},
      given.reason ?? null,
    ],
  );
  return rows[0]!.run;
}

export async function insertCell(
  pool: pg.Pool,
  run: number,
  taskId: string,
  state: string,
  given: { try?: number; mapIndex?: number; startedAt?: string } = {},
): Promise<void> {
  await pool.query(
    `insert into app.cell (run, task_id, map_index, state, try, started_at) values ($1, $2, $3, $4, $5, $6)`,
    [run, taskId, given.mapIndex ?? -1, state, given.try ?? 1, given.startedAt ?? null],
  );
}

export async function insertTry(
  pool: pg.Pool,
  run: number,
  taskId: string,
  number: number,
  state: string,
  given: { error?: unknown; output?: unknown } = {},
): Promise<void> {
  await pool.query(
    `insert into app.task_try (run, task_id, try, state, worker, started_at, error, output)
     values ($1, $2, $3, $4, 'worker-1', '2026-05-09T06:00:00Z', $5, $6)`,
    [
      run,
      taskId,
      number,
      state,
      given.error === undefined ? null : JSON.stringify(given.error),
      given.output === undefined ? null : JSON.stringify(given.output),
    ],
  );
}

export async function insertLease(
  pool: pg.Pool,
  run: number,
  taskId: string,
  account: string,
  slots: number,
  given: { granted?: boolean; reason?: string } = {},
): Promise<void> {
  await pool.query(
    `insert into app.lease (run, task_id, try, account, slots, granted_at, reason)
     values ($1, $2, $3, $4, $5, case when $6 then app.now() end, $7)`,
    [run, taskId, taskId === "" ? 0 : 1, account, slots, given.granted ?? false, given.reason ?? null],
  );
}
