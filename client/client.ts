import type { Client } from "@temporalio/client";
import { isoOf } from "../core/calendar/dates.ts";
import { intervalFor } from "../core/calendar/plan.ts";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { runIdOf, workflowIdOf } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { transaction, type Pool } from "../db/connection.ts";
import { audit, dagIds, dagOf, setPaused, type DagRow } from "../db/dag-rows.ts";
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
}

export function createClient(deps: ClientDeps): MeridianClient {
  return {
    async trigger(request) {
      const dag = await existing(deps.pool, request.dagId);
      const created = await create(deps, dag, request);
      const run = created.row;
      if (run.granted) {
        const { dag_id: dagId, run_id: runId } = run;
        await startRun(
          deps.temporal,
          deps.taskQueue,
          { dagId, runId, run: run.run, runType: "manual", logicalAt: created.logicalAt },
          deps.eager,
        );
      }
      return triggered(run);
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
  // Without a date the run's date is now, in ms and made unique (P13).
  for (let logicalAt = request.logicalAt ?? deps.clock(); ; logicalAt += 1) {
    const interval = intervalFor(dag.timetable, logicalAt);
    const runId = runIdOf(logicalAt);
    const row = await transaction(deps.pool, async (client) => {
      const [made] = await createRuns(client, [
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
      if (made!.created) {
        await audit(client, { who: request.who, action: "trigger", dagId: dag.dag_id, runId });
      }
      return made!;
    });
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

function triggered(row: CreatedRun): TriggeredRun {
  return {
    dagId: row.dag_id,
    run: row.run,
    runId: row.run_id,
    state: row.granted ? "running" : "queued",
    workflowId: workflowIdOf(row.dag_id, row.run_id),
  };
}
