import { isoOf } from "../core/calendar/dates.ts";
import { plan, type Plan } from "../core/calendar/plan.ts";
import { runIdOf } from "../core/ids.ts";
import { inParallel } from "../core/in-parallel.ts";
import { firstOf, newRun, type RunFacts } from "../client/opening.ts";
import type { RunStarter, RunToStart } from "../client/starter.ts";
import { transaction, type Db, type Pool } from "../db/connection.ts";
import {
  planInputOf,
  storeCursors,
  takeDue,
  takeNamed,
  type CursorRow,
  type DagRow,
} from "../db/dag-rows.ts";
import { createRuns } from "../db/runs.ts";

export interface CreateRunsDeps {
  readonly pool: Pool;
  readonly starter: RunStarter;
  readonly clock: () => number;
  /** Called between pages, so that a long tick is seen to be alive. */
  readonly onPage?: (created: number) => void;
  /** A DAG whose calendar cannot be worked out, or a run that could not be started; the others go on. */
  readonly onError?: (error: Error, what: string) => void;
}

const DAGS_PER_PAGE = 200;
/** Runs in one transaction. Its end holds the allocator's lock, for which running tasks wait: measured 40 to 60 ms. */
const RUNS_PER_PAGE = 2000;
/** More at once hold up the tasks of runs already started: 100 due runs of 3 tasks took 5.1 to 5.4 s with 40, 5.0 s with 16. */
const STARTS_IN_PARALLEL = 10;
/** A DAG that cannot be worked out is looked at again so much later. */
const PUT_OFF_MS = 60_000;

type Take = (client: Db, nowAt: number) => Promise<readonly DagRow[]>;

/**
 * Creates every run that is due in a shard (design 5): claims due DAGs, works out their intervals, inserts the runs
 * that the ledger does not have and starts those whose DAG has a free place. May be called early, late, twice or by
 * several at once. DAGs that are named are looked at whether due or not. Returns how many runs were created.
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
  const page = async (take: Take): Promise<number> => {
    const made = await createPage(deps, take);
    await starting;
    starting = startAll(deps, made.toStart);
    created += made.created;
    deps.onPage?.(created);
    return made.dags;
  };
  for (let from = 0; from < (dagIds?.length ?? 0); from += DAGS_PER_PAGE) {
    const named = dagIds!.slice(from, from + DAGS_PER_PAGE);
    await page(async (client) => await takeNamed(client, named));
  }
  const due: Take = async (client, nowAt) =>
    await takeDue(client, nowAt, shard, shards, DAGS_PER_PAGE, dagIds);
  while ((await page(due)) > 0);
  await starting;
  return created;
}

interface Page {
  readonly dags: number;
  readonly created: number;
  readonly toStart: readonly RunToStart[];
}

async function createPage(deps: CreateRunsDeps, take: Take): Promise<Page> {
  const nowAt = deps.clock();
  return await transaction(deps.pool, async (client) => {
    const dags = await take(client, nowAt);
    const limit = Math.max(1, Math.floor(RUNS_PER_PAGE / dags.length));
    const plans: Planned[] = [];
    const cursors: CursorRow[] = [];
    for (const dag of dags) {
      try {
        const planned = { dag, plan: plan({ ...planInputOf(dag, nowAt), limit }) };
        plans.push(planned);
        cursors.push(cursorOf(planned));
      } catch (error) {
        deps.onError?.(error as Error, `dag "${dag.dag_id}": its next runs cannot be worked out`);
        cursors.push(putOff(dag, nowAt));
      }
    }
    const { starter } = deps;
    const versions = await starter.versions.loadAll(
      plans.filter(({ plan: { intervals } }) => intervals.length > 0).map(({ dag }) => dag.version!),
      client,
    );
    const runs = plans.flatMap(factsOf);
    const rows = await createRuns(
      client,
      runs.map((facts) => newRun(facts, "schedule", null, firstOf(versions.get(facts.version)!))),
    );
    await storeCursors(client, cursors);
    const toStart: RunToStart[] = [];
    rows.forEach((row, i) => {
      if (!row.created || !row.granted) return;
      const facts = { ...runs[i]!, run: row.run };
      toStart.push(starter.toStart(row, facts, versions.get(facts.version)!));
    });
    return { dags: dags.length, created: rows.filter((row) => row.created).length, toStart };
  });
}

type Planned = { readonly dag: DagRow; readonly plan: Plan };

function factsOf({ dag, plan: { intervals } }: Planned): Omit<RunFacts, "run">[] {
  return intervals.map(({ startAt, endAt }) => ({
    dagId: dag.dag_id,
    runId: runIdOf(startAt),
    runType: "scheduled",
    logicalAt: startAt,
    startAt,
    endAt,
    version: dag.version!,
    conf: {},
  }));
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : isoOf(at));

function cursorOf({ dag, plan: { cursorAt, nextDueAt, uncovered } }: Planned): CursorRow {
  return {
    dag_id: dag.dag_id,
    cursor_at: isoOrNull(cursorAt),
    next_due_at: isoOrNull(nextDueAt),
    uncovered: uncovered && { startAt: isoOf(uncovered.startAt), endAt: isoOf(uncovered.endAt) },
  };
}

function putOff(dag: DagRow, nowAt: number): CursorRow {
  return {
    dag_id: dag.dag_id,
    cursor_at: isoOrNull(dag.cursor_at?.getTime() ?? null),
    next_due_at: isoOf(nowAt + PUT_OFF_MS),
    uncovered: null,
  };
}

/** A start that fails is left to the outbox, which comes by in a few seconds. */
async function startAll(deps: CreateRunsDeps, toStart: Page["toStart"]): Promise<void> {
  await inParallel(toStart, STARTS_IN_PARALLEL, async (run) => {
    await deps.starter
      .start(run)
      .catch((error: unknown) =>
        deps.onError?.(error as Error, `starting ${run.dagId} ${run.runId} failed; it will be tried again`),
      );
  });
}
