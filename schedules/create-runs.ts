import type { Client } from "@temporalio/client";
import { isoOf } from "../core/calendar/dates.ts";
import { plan, type Plan } from "../core/calendar/plan.ts";
import { runIdOf } from "../core/ids.ts";
import { startRun } from "../client/runs.ts";
import { transaction, type Pool } from "../db/connection.ts";
import { storeCursors, takeDue, type DagRow } from "../db/dag-rows.ts";
import { createRuns, type CreatedRun, type NewRun } from "../db/runs.ts";

export interface CreateRunsDeps {
  readonly pool: Pool;
  readonly temporal: Client;
  readonly taskQueue: string;
  readonly eager: boolean;
  readonly clock: () => number;
  /** Called between pages, so that a long tick is seen to be alive. */
  readonly onPage?: (created: number) => void;
}

/** DAGs taken in one transaction, and intervals of one DAG in one turn: a few hundred runs at the most. */
const DAGS_PER_PAGE = 200;
const INTERVALS_PER_TURN = 200;
const STARTS_IN_PARALLEL = 40;

/**
 * Creates every run that is due in a shard (design 5): claims due DAGs, works out their intervals, inserts the runs
 * that the ledger does not have and starts those whose DAG has a free place. May be called early, late, twice or by
 * several at once. Returns how many runs were created.
 */
export async function createDueRuns(
  deps: CreateRunsDeps,
  shard = 0,
  shards = 1,
  dagIds: readonly string[] | null = null,
): Promise<number> {
  let created = 0;
  // Runs of one page start while the next page is worked out.
  let starting: Promise<void> = Promise.resolve();
  for (;;) {
    const page = await createPage(deps, shard, shards, dagIds);
    await starting;
    starting = startAll(deps, page.toStart);
    starting.catch(() => undefined);
    created += page.created;
    deps.onPage?.(created);
    if (page.dags === 0) break;
  }
  await starting;
  return created;
}

interface Page {
  readonly dags: number;
  readonly created: number;
  readonly toStart: readonly { row: CreatedRun; logicalAt: number }[];
}

async function createPage(
  deps: CreateRunsDeps,
  shard: number,
  shards: number,
  dagIds: readonly string[] | null,
): Promise<Page> {
  const nowAt = deps.clock();
  return await transaction(deps.pool, async (client) => {
    const dags = await takeDue(client, nowAt, shard, shards, DAGS_PER_PAGE, dagIds);
    const plans = dags.map((dag) => ({ dag, plan: planFor(dag, nowAt) }));
    const rows = await createRuns(client, plans.flatMap(newRuns));
    await storeCursors(client, plans.map(cursorOf));
    const toStart = rows
      .filter((row) => row.created && row.granted)
      .map((row) => ({ row, logicalAt: logicalAtOf(row, plans) }));
    return { dags: dags.length, created: rows.filter((row) => row.created).length, toStart };
  });
}

type Planned = { readonly dag: DagRow; readonly plan: Plan };

function planFor(dag: DagRow, nowAt: number): Plan {
  return plan({
    timetable: dag.timetable,
    startAt: dag.start_at?.getTime() ?? null,
    endAt: dag.end_at?.getTime() ?? null,
    catchup: dag.catchup,
    cursorAt: dag.cursor_at?.getTime() ?? null,
    firstSeenAt: dag.first_seen_at.getTime(),
    nowAt,
    limit: INTERVALS_PER_TURN,
  });
}

function newRuns({ dag, plan: { intervals } }: Planned): NewRun[] {
  return intervals.map((interval) => ({
    dag_id: dag.dag_id,
    run_id: runIdOf(interval.startAt),
    run_type: "scheduled",
    logical_at: isoOf(interval.startAt),
    start_at: isoOf(interval.startAt),
    end_at: isoOf(interval.endAt),
    version: dag.version!,
    who: "schedule",
  }));
}

function cursorOf({ dag, plan: next }: Planned) {
  const iso = (at: number | null): string | null => (at === null ? null : isoOf(at));
  const { uncovered } = next;
  return {
    dag_id: dag.dag_id,
    cursor_at: iso(next.cursorAt),
    next_due_at: iso(next.nextDueAt),
    uncovered: uncovered && { startAt: isoOf(uncovered.startAt), endAt: isoOf(uncovered.endAt) },
  };
}

function logicalAtOf(row: CreatedRun, plans: readonly Planned[]): number {
  const own = plans.find(({ dag }) => dag.dag_id === row.dag_id)!;
  return own.plan.intervals.find((interval) => runIdOf(interval.startAt) === row.run_id)!.startAt;
}

/** A start that fails is left to the outbox, which comes by in a few seconds. */
async function startAll(deps: CreateRunsDeps, toStart: Page["toStart"]): Promise<void> {
  const queue = [...toStart].reverse();
  let failure: unknown;
  const next = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
      const { row, logicalAt } = item;
      const run = { dagId: row.dag_id, runId: row.run_id, run: row.run, runType: "scheduled", logicalAt };
      await startRun(deps.temporal, deps.taskQueue, run, deps.eager).catch((error: unknown) => {
        failure ??= error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(STARTS_IN_PARALLEL, queue.length) }, next));
  if (failure !== undefined) throw failure;
}
