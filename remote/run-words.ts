/** How a run stands, and what can be done about a wait, in words that the page and the command line share. Pure. */
import type { ListedRun, Run, Waiting } from "../api/contracts.ts";
import { instanceName } from "../core/instance-name.ts";

/** What can never be granted as things are has a reason that begins so (`core/allocate.ts`). */
const NEVER = "can never run";

export const isImpossible = (reason: string | null): boolean => reason?.startsWith(NEVER) ?? false;

/** What ends a wait that does not end by itself; null: it ends by itself, or it is no pool that it waits for. */
export function remedyOf({ pool, reason }: Pick<Waiting, "pool" | "reason">): string | null {
  if (pool === null || !isImpossible(reason)) return null;
  return reason?.endsWith("does not exist")
    ? "make the pool, or name another in the DAG file"
    : "give the pool more slots, or let the task ask for fewer";
}

const tasks = (count: number): string => `${count} ${count === 1 ? "task" : "tasks"}`;

/** Of a run that is under way and at rest: what it waits with. Of one that failed: what did. null: nothing to tell. */
export function standOf({ state, tasks: stand }: Pick<ListedRun, "state" | "tasks">): string | null {
  if (stand === null) return null;
  const { running, waiting, failed, firstFailed } = stand;
  if (state === "running" && running === 0 && waiting > 0)
    return `${tasks(waiting)} ${waiting === 1 ? "waits" : "wait"}`;
  if (state !== "failed" || firstFailed === null) return null;
  const { taskId, mapIndex, mapLabel } = firstFailed;
  const instance = instanceName({ taskId: "", mapIndex, mapLabel });
  return `task "${taskId}"${instance}${failed > 1 ? ` and ${failed - 1} more` : ""} failed`;
}

/** The reason a run has of its own, else how its tasks stand. */
export const whyOf = (run: Pick<Run, "reason"> & Pick<ListedRun, "state" | "tasks">): string | null =>
  run.reason ?? standOf(run);
