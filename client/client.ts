import { Batcher } from "../core/batcher.ts";
import { isoOf } from "../core/calendar/dates.ts";
import { intervalFor } from "../core/calendar/plan.ts";
import { CALENDAR_FROM_AT, CALENDAR_UNTIL_AT } from "../core/calendar/zone.ts";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { runIdOf, workflowIdOf } from "../core/ids.ts";
import { classNumber, placeByCaller, type LimitsFile } from "../core/limits-file.ts";
import { paramErrorsText } from "../core/params.ts";
import { didYouMean } from "../core/suggest.ts";
import type { Pool } from "../db/connection.ts";
import { dagIds, dagsOf, setPaused, type DagRow } from "../db/dag-rows.ts";
import { createRuns, runState, type CreatedRun, type NewRun } from "../db/runs.ts";
import { triggerRuns, type TriggerAnswer, type TriggeredRow } from "../db/triggers.ts";
import type { LoadedVersion } from "../db/versions.ts";
import { checkParams } from "../platform/params.ts";
import { boundsOf, checkTasks, limitedBy } from "./bounds.ts";
import { commandRun } from "./command.ts";
import { firstOf, newRun, type RunFacts } from "./opening.ts";
import type { RunStarter, RunToStart } from "./starter.ts";
import type { MeridianClient, TriggeredRun, TriggerRequest } from "./types.ts";
import { checkWait, endWait } from "./waits.ts";

export interface ClientDeps {
  readonly pool: Pool;
  readonly starter: RunStarter;
  readonly clock: () => number;
  /** Called after an unpause: create at once what is due. */
  readonly onDue?: (dagIds: readonly string[]) => Promise<unknown>;
  /** A run is stored but not started yet. */
  readonly onError?: (error: Error, what: string) => void;
}

/** A caller waits no longer than this for Temporal: its run is stored, and the outbox starts it. */
const START_MS = 5_000;

/** Triggers in one statement. Small, since it holds the places of its DAGs meanwhile. */
const MADE = 50;

/** Of triggers that come within so long of each other, the later ones share statements. */
const MAKE_REST_MS = 15;

export function createClient(deps: ClientDeps): MeridianClient {
  const rest = async () => await new Promise((resolve) => setTimeout(resolve, MAKE_REST_MS));
  const dags = new Batcher<string, DagRow | null>(
    async (ids) => await dagsOf(deps.pool, ids),
    MADE,
    (id) => id,
    rest,
  );
  const making = new Batcher<TriggeredRow, TriggerAnswer>(
    async (runs) => await made(deps.pool, runs),
    MADE,
    (run) => run,
    rest,
  );
  return {
    async trigger(request) {
      checkDate(request.logicalAt);
      const dag = await existing(deps.pool, dags, request.dagId);
      const { row, toStart } = await create(deps, making, dag, request);
      // One that was made before is started by whoever made it, or by the outbox.
      if (toStart === null) return triggered(row, (await runState(deps.pool, row.run)) !== "queued");
      return triggered(row, row.granted && (await started(deps, toStart)));
    },
    command: async (request) => await commandRun(deps, request),
    endWait: async (request) => await endWait(deps, request),
    checkWait: async (request) => await checkWait(deps, request),
    async pause(dagId, who, reason) {
      if (!(await setPaused(deps.pool, dagId, true, who, reason))) await existing(deps.pool, dags, dagId);
    },
    async unpause(dagId, who) {
      if (!(await setPaused(deps.pool, dagId, false, who, null))) await existing(deps.pool, dags, dagId);
      await deps.onDue?.([dagId]);
    },
  };
}

async function made(pool: Pool, runs: readonly TriggeredRow[]): Promise<readonly TriggerAnswer[]> {
  if (runs.some(({ rates, most }) => rates !== undefined || most !== undefined))
    return await triggerRuns(pool, runs);
  return (await createRuns(pool, runs)).map((row) => ({ ...row, refused: null }));
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
async function started(deps: ClientDeps, run: RunToStart): Promise<boolean> {
  try {
    await deps.starter.start(run, START_MS);
    return true;
  } catch (error) {
    deps.onError?.(error as Error, `starting ${run.dagId} ${run.runId} failed; it will be tried again`);
    return false;
  }
}

/** Before a run is made: one that no body can read would fail only then. */
function checkConf(dagId: string, params: LoadedVersion["params"], conf: TriggerRequest["conf"]): void {
  if (params === null) return;
  const errors = checkParams(params, conf);
  if (errors.length === 0) return;
  throw new Refused(
    "bad_params",
    `conf does not fit the params of dag "${dagId}": ${paramErrorsText(errors)}; no run was made`,
    { details: { errors } },
  );
}

async function existing(pool: Pool, found: Batcher<string, DagRow | null>, dagId: string): Promise<DagRow> {
  const dag = await found.add(dagId);
  if (dag !== null) return dag;
  throw new NotFound("no_dag", `dag "${dagId}" does not exist${didYouMean(dagId, await dagIds(pool))}`);
}

/** Of a run by hand, where a rule of the limits file is for its caller. */
type OwnPlace = Pick<NewRun, "tenant" | "class">;

function placeFor(file: LimitsFile | null, dag: DagRow, caller: string): OwnPlace {
  const place = file && placeByCaller(file, { dagId: dag.dag_id, owner: dag.owner, tags: dag.tags, caller });
  return place === null ? {} : { tenant: place.tenant, class: classNumber(place.class) };
}

async function create(
  deps: ClientDeps,
  making: Batcher<TriggeredRow, TriggerAnswer>,
  dag: DagRow,
  request: TriggerRequest,
): Promise<{ row: CreatedRun; toStart: RunToStart | null }> {
  if (!dag.active || dag.version === null) {
    throw new Refused(
      "inactive_dag",
      `dag "${dag.dag_id}" is not active: its file is gone or defines it no more; bring it back to the DAG folder first`,
    );
  }
  const { versions } = deps.starter;
  const limits = (await versions.limits.current())?.file ?? null;
  const version = await versions.load(dag.version);
  checkConf(dag.dag_id, version.params, request.conf);
  checkTasks(dag.dag_id, version, limits);
  const place = placeFor(limits, dag, request.who);
  const bounds = boundsOf({ ...dag, tenant: place.tenant ?? dag.tenant }, request.who, limits);
  // With a key the moments are tried in the same order each time, so that its run is met before a free one.
  let logicalAt = request.logicalAt ?? moment(dag, request.once?.at ?? deps.clock());
  for (; ; logicalAt = moment(dag, logicalAt + 1)) {
    const { startAt, endAt } = intervalFor(dag.timetable, logicalAt);
    const facts: Omit<RunFacts, "run"> = {
      dagId: dag.dag_id,
      runId: runIdOf(logicalAt),
      runType: "manual",
      logicalAt,
      startAt,
      endAt,
      version: dag.version,
      conf: request.conf,
    };
    const asked = newRun(facts, request.who, request.once?.key ?? null, firstOf(version));
    const row = await making.add({ ...asked, ...place, ...bounds });
    if (row.refused !== null) throw limitedBy(row.refused);
    if (row.created) {
      return { row, toStart: deps.starter.toStart(row, { ...facts, run: row.run }, version) };
    }
    if (row.own) return { row, toStart: null };
    if (request.logicalAt !== null) {
      throw new Conflict(
        "run_exists",
        `dag "${dag.dag_id}" has a run for ${isoOf(logicalAt)} already: ${row.run_id}; a logical date has one run`,
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
