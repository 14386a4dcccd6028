import type { Client } from "@temporalio/client";
import { isoOf } from "../core/calendar/dates.ts";
import { intervalFor } from "../core/calendar/plan.ts";
import { CALENDAR_FROM_AT, CALENDAR_UNTIL_AT } from "../core/calendar/zone.ts";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { runIdOf, workflowIdOf } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import type { Pool } from "../db/connection.ts";
import { dagIds, dagOf, setPaused, type DagRow } from "../db/dag-rows.ts";
import { createRuns, type CreatedRun } from "../db/runs.ts";
import { startRun } from "./runs.ts";
import type { MeridianClient, TriggeredRun, TriggerRequest } from "./types.ts";

export interface ClientDeps {
  readonly pool: Pool;
  readonly temporal: Client;
  readonly taskQueue: string;
  /** The Temporal connection is a worker's of this process: runs may start without a dispatch. */
  readonly eager: boolean;
  readonly clock: () => number;
  /** Called after an unpause: create at once what is due. */
  readonly onDue?: (dagIds: readonly string[]) => Promise<unknown>;
  /** A run is stored but not started yet. */
  readonly onError?: (error: Error, what: string) => void;
}

/** A caller waits no longer than this for Temporal: its run is stored, and the outbox starts it. */
const START_MS = 5_000;

export function createClient(deps: ClientDeps): MeridianClient {
  return {
    async trigger(request) {
      checkDate(request.logicalAt);
      const dag = await existing(deps.pool, request.dagId);
      const { row, logicalAt } = await create(deps, dag, request);
      return triggered(row, row.granted && (await started(deps, row, logicalAt)));
    },
    async pause(dagId, who, reason) {
      if (!(await setPaused(deps.pool, dagId, true, who, reason))) await existing(deps.pool, dagId);
    },
    async unpause(dagId, who) {
      if (!(await setPaused(deps.pool, dagId, false, who, null))) await existing(deps.pool, dagId);
      await deps.onDue?.([dagId]);
    },
  };
}

function checkDate(logicalAt: number | null): void {
  if (logicalAt === null) return;
  if (Number.isInteger(logicalAt) && logicalAt >= CALENDAR_FROM_AT && logicalAt < CALENDAR_UNTIL_AT) return;
  throw new Refused(
    "bad_logical_date",
    `logical date ${logicalAt}: expected whole milliseconds since 1970, of a year from 1800 to 9999, or null for now`,
  );
}

/** False when Temporal did not take it: the run stays queued, and the outbox starts it once Temporal is there again. */
async function started(deps: ClientDeps, row: CreatedRun, logicalAt: number): Promise<boolean> {
  const { dag_id: dagId, run_id: runId, run } = row;
  const toStart = { dagId, runId, run, runType: "manual", logicalAt };
  try {
    await deps.temporal.withDeadline(Date.now() + START_MS, async () => {
      await startRun(deps.temporal, deps.taskQueue, toStart, deps.eager);
    });
    return true;
  } catch (error) {
    deps.onError?.(error as Error, `starting ${dagId} ${runId} failed; it will be tried again`);
    return false;
  }
}

async function existing(pool: Pool, dagId: string): Promise<DagRow> {
  const dag = await dagOf(pool, dagId);
  if (dag !== null) return dag;
  throw new NotFound("no_dag", `dag "${dagId}" does not exist${didYouMean(dagId, await dagIds(pool))}`);
}

async function create(
  deps: ClientDeps,
  dag: DagRow,
  request: TriggerRequest,
): Promise<{ row: CreatedRun; logicalAt: number }> {
  if (!dag.active || dag.version === null) {
    throw new Refused(
      "inactive_dag",
      `dag "${dag.dag_id}" is not active: its file is gone or defines it no more; bring it back to the DAG folder first`,
    );
  }
  const version = dag.version;
  let logicalAt = request.logicalAt ?? moment(dag, deps.clock());
  for (; ; logicalAt = moment(dag, logicalAt + 1)) {
    const interval = intervalFor(dag.timetable, logicalAt);
    const runId = runIdOf(logicalAt);
    const [row] = await createRuns(deps.pool, [
      {
        dag_id: dag.dag_id,
        run_id: runId,
        run_type: "manual",
        logical_at: isoOf(logicalAt),
        start_at: isoOf(interval.startAt),
        end_at: isoOf(interval.endAt),
        version,
        conf: request.conf,
        who: request.who,
      },
    ]);
    if (row === undefined) throw new Error("create_runs answered nothing");
    if (row.created) return { row, logicalAt };
    if (request.logicalAt !== null) {
      throw new Conflict(
        "run_exists",
        `dag "${dag.dag_id}" has a run for ${isoOf(logicalAt)} already: ${row.run_id}; a logical date has one run, clear that run to do it again`,
        { details: { runId: row.run_id } },
      );
    }
  }
}

/** P13: without a date a run's date is now, in ms and made unique; never a boundary, whose interval is the schedule's. */
function moment(dag: DagRow, at: number): number {
  const { startAt, endAt } = intervalFor(dag.timetable, at);
  return startAt === endAt ? at : at + 1;
}

function triggered(row: CreatedRun, isStarted: boolean): TriggeredRun {
  return {
    dagId: row.dag_id,
    run: row.run,
    runId: row.run_id,
    state: isStarted ? "running" : "queued",
    workflowId: workflowIdOf(row.dag_id, row.run_id),
  };
}
