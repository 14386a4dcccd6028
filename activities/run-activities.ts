import type pg from "pg";
import { dsOf, isoOf } from "../core/calendar/dates.ts";
import { Terminal } from "../core/errors.ts";
import { newProgress, step } from "../core/run.ts";
import { RUN_DONE } from "../core/states.ts";
import { advance, type RecordRow, type RequestRow } from "../db/pools/advance.ts";
import { closeRun, openRun } from "../db/runs.ts";
import { Batcher } from "./batcher.ts";
import { recordRow, requestRow } from "./rows.ts";
import type { AdvanceInput, Grant, RunActivities } from "./types.ts";
import type { Versions } from "./versions.ts";

export interface RunActivitiesDeps {
  readonly pool: pg.Pool;
  readonly versions: Versions;
  readonly taskQueue: string;
  readonly lostAfterMs: number;
  /** A pass of the allocator is wanted. */
  readonly wantPass: () => void;
}

interface Advance {
  readonly run: number;
  readonly records: readonly RecordRow[];
  readonly requests: readonly RequestRow[];
}

/** `openRun`, `advance`, `closeRun`: one SQL round trip each, shared by the runs that are at it together. */
export function createRunActivities(deps: RunActivitiesDeps): RunActivities {
  const batcher = new Batcher<Advance, readonly Grant[]>(async (batch) => {
    const answer = await advance(
      deps.pool,
      batch.map((item) => item.run),
      batch.flatMap((item) => item.records),
      batch.flatMap((item) => item.requests),
    );
    if (answer.undecided) deps.wantPass();
    const byRun = new Map<number, Grant[]>(batch.map((item) => [item.run, []]));
    for (const grant of answer.grants) {
      byRun.get(grant.run)?.push({ taskId: grant.task_id, mapIndex: grant.map_index, try: grant.try });
    }
    return batch.map((item) => byRun.get(item.run)!);
  }, 200);

  return {
    async openRun(run) {
      const row = await openRun(deps.pool, run);
      if (row === null) throw new Terminal("no_run", `run ${run} is not in the database`);
      if (RUN_DONE[row.state]) return { kind: "closed", state: row.state };
      const version = await deps.versions.load(row.version);
      const first = step(version.plan, newProgress(version.plan), { kind: "opened" });
      const requests: RequestRow[] = [];
      for (const effect of first.effects) {
        if (effect.kind !== "request") continue;
        const task = version.tasks[effect.task]!;
        const { id: taskId, pool, poolSlots: slots, priorityWeight: priority } = task;
        requests.push(requestRow(run, { taskId, mapIndex: -1, try: effect.try, pool, slots, priority }));
      }
      const grants = requests.length === 0 ? [] : await batcher.add({ run, records: [], requests });
      return {
        kind: "opened",
        info: {
          dagId: row.dag_id,
          runId: row.run_id,
          run,
          runType: row.run_type,
          logicalDate: isoOf(row.logical_at.getTime()),
          dataInterval: { start: isoOf(row.start_at.getTime()), end: isoOf(row.end_at.getTime()) },
          ds: dsOf(row.start_at.getTime(), version.zone),
          zone: version.zone,
          conf: row.conf,
          version: row.version,
          bundleHash: version.bundleHash,
          lostAfterMs: deps.lostAfterMs,
          taskQueue: deps.taskQueue,
        },
        tasks: version.tasks,
        progress: first.progress,
        grants,
      };
    },

    async advance(input: AdvanceInput) {
      return await batcher.add({
        run: input.run,
        records: input.decisions.map((decision) => recordRow(input.run, decision)),
        requests: input.requests.map((request) => requestRow(input.run, request)),
      });
    },

    async closeRun({ run, decisions, state, reason, progress }) {
      const records = decisions.map((decision) => recordRow(run, decision));
      const waits = await closeRun(deps.pool, { run, records, state, reason, progress });
      if (waits) deps.wantPass();
    },
  };
}
