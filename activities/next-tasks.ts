import { poolAccount } from "../core/ids.ts";
import type { NextRow } from "../db/tries.ts";
import type { LoadedVersion } from "../db/versions.ts";

/** A join over more tasks than this is left to the run, which counts without reading cells. */
const WIDEST = 20;

/**
 * The tasks that may follow a success, to be asked for with its record. Only where the record alone can tell: all
 * upstreams have succeeded and the rule wants nothing else. Everything else is asked for by the run itself.
 */
export function nextTasks(version: LoadedVersion, run: number, taskId: string): NextRow[] {
  const position = version.positions.get(taskId);
  if (position === undefined) return [];
  const rows: NextRow[] = [];
  for (const down of version.plan.downstream[position]!) {
    const task = version.tasks[down]!;
    if (task.triggerRule !== "all_success" || task.upstream.length > WIDEST) continue;
    rows.push({
      run,
      task_id: task.id,
      after: task.upstream.map((up) => version.tasks[up]!.id),
      account: poolAccount(task.pool),
      slots: task.poolSlots,
      priority: task.priorityWeight,
    });
  }
  return rows;
}
