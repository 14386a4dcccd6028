/** DAGs as rows, and a Temporal that only notes what is started: for tests of what is created. */
import type { Client } from "@temporalio/client";
import type pg from "pg";
import { RunStarter } from "../../client/starter.ts";
import { parseSchedule } from "../../core/calendar/timetable.ts";

export interface GivenDag {
  readonly id: string;
  readonly schedule: unknown;
  readonly startDate: string;
  readonly catchup?: boolean;
  readonly maxActiveRuns?: number;
  readonly shard?: number;
}

/** Stores a DAG with one version, as the processor does; due at once by the database's clock. */
export async function storeDag(pool: pg.Pool, dag: GivenDag): Promise<void> {
  await pool.query(
    `with code as (insert into app.bundle (hash, code) values ('none', '') on conflict do nothing),
     one as (
       insert into app.dag (dag_id, file, timetable, timetable_hash, start_at, catchup, max_active_runs, shard, next_due_at)
       values ($1, $1 || '.ts', $2, '', $3, $4, $5, $6, app.now())),
     place as (insert into app.account (key, slots) values ('runs:' || $1, $5))
     select`,
    [
      dag.id,
      JSON.stringify(parseSchedule(dag.schedule, "UTC")),
      dag.startDate,
      dag.catchup ?? false,
      dag.maxActiveRuns ?? 16,
      dag.shard ?? 0,
    ],
  );
  await pool.query(
    `with made as (
       insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file)
       values ($1, 1, '', '{"zone": "UTC", "tasks": []}', 'none', $1 || '.ts') returning version)
     update app.dag set version = (select version from made) where dag_id = $1`,
    [dag.id],
  );
}

export interface FakeTemporal {
  starter(pool: pg.Pool): RunStarter;
  /** Workflow ids, in the order of their start. */
  readonly started: string[];
  /** What a start does first; may throw. */
  onStart: (workflowId: string) => Promise<void>;
}

export function fakeTemporal(): FakeTemporal {
  const started: string[] = [];
  const fake: FakeTemporal = {
    started,
    onStart: async () => undefined,
    starter: (pool) =>
      new RunStarter({
        pool,
        temporal,
        taskQueue: "q",
        lostAfterMs: 15_000,
        turnOverEvents: 10_000,
        eager: false,
        onError: () => undefined,
      }),
  };
  const temporal = {
    workflow: {
      start: async (_type: string, { workflowId }: { workflowId: string }) => {
        await fake.onStart(workflowId);
        started.push(workflowId);
      },
    },
    withDeadline: async (_deadline: number, call: () => Promise<unknown>) => await call(),
  } as unknown as Client;
  return fake;
}

export async function intervalsOf(pool: pg.Pool, dagId: string): Promise<string[]> {
  const { rows } = await pool.query<{ start_at: Date; end_at: Date }>(
    "select start_at, end_at from app.dag_run where dag_id = $1 order by logical_at",
    [dagId],
  );
  return rows.map((run) => `${run.start_at.toISOString()}/${run.end_at.toISOString()}`);
}
