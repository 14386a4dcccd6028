import { poolAccount } from "../core/ids.ts";
import { isBodyless } from "../core/waits.ts";
import type { NextRow } from "../db/tries.ts";
import { coresOf, type LoadedVersion } from "../db/versions.ts";

/** A join over more tasks than this is left to the run, which counts without reading cells. */
const WIDEST = 20;

/**
 * The tasks that may follow a success, to be asked for with its record. Only where the record alone can tell: all
 * upstreams have succeeded and the rule wants nothing else. Everything else is asked for by the run itself.
 */
export function nextTasks(version: LoadedVersion, run: number, taskId: string): NextRow[] {
  const position = version.plan.positions.get(taskId);
  if (position === undefined) return [];
  const { tasks, circuits } = version.plan;
  const rows: NextRow[] = [];
  for (const down of version.plan.downstream[position]!) {
    const task = tasks[down]!;
    if (task.triggerRule !== "all_success" || task.upstream.length > WIDEST) continue;
    if (isBodyless(task.wait)) continue;
    if (task.map !== undefined || task.teardown !== undefined || circuits.has(down)) continue;
    if (task.upstream.some((up) => tasks[up]!.map !== undefined || tasks[up]!.decides !== undefined))
      continue;
    rows.push({
      run,
      task_id: task.id,
      after: task.upstream.map((up) => tasks[up]!.id),
      account: poolAccount(task.pool),
      slots: task.poolSlots,
      ...coresOf(version, task.id),
      priority: task.priorityWeight,
    });
  }
  return rows;
}
