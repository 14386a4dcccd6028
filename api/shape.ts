/** From rows to what leaves. */
import type { z } from "@hono/zod-openapi";
import { workflowIdOf } from "../core/ids.ts";
import type { TryState } from "../core/states.ts";
import type { CellRow, RunRow, RunTasksRow, WaitingRow } from "../db/read/runs.ts";
import type { Cell, Interval, Run, RunTasks, Waiting } from "./contracts.ts";
import type { TemporalWeb } from "./deps.ts";
import { keyOf } from "./requests.ts";

export const iso = (date: Date): string => date.toISOString();
export const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null;

export const shapeInterval = (row: { start_at: Date; end_at: Date }): Interval => ({
  start: iso(row.start_at),
  end: iso(row.end_at),
});

export const shapeRun = (row: RunRow): Run => ({
  key: keyOf(row),
  dagId: row.dag_id,
  runId: row.run_id,
  runType: row.run_type,
  state: row.state,
  logicalDate: iso(row.logical_at),
  interval: shapeInterval(row),
  queuedAt: iso(row.queued_at),
  startedAt: isoOrNull(row.started_at),
  endedAt: isoOrNull(row.ended_at),
  version: row.version_number,
  triggeredBy: row.triggered_by,
  reason: row.reason,
});

/** Left out where there is none. */
export const labelOf = (label: string | null): { readonly mapLabel?: string } =>
  label === null ? {} : { mapLabel: label };

export const shapeRunTasks = ({
  failed_task,
  failed_map_index,
  failed_label,
  ...row
}: RunTasksRow): RunTasks => ({
  running: row.running,
  waiting: row.waiting,
  failed: row.failed,
  firstFailed:
    failed_task === null
      ? null
      : { taskId: failed_task, mapIndex: failed_map_index ?? -1, ...labelOf(failed_label) },
});

/** Its log goes on, now or after its wait. */
export const isUnderWay = (state: TryState): boolean => state === "running" || state === "deferred";

export const shapeCell = (row: CellRow): Cell => ({
  taskId: row.task_id,
  mapIndex: row.map_index,
  ...labelOf(row.label),
  state: row.state,
  try: row.try,
  queuedAt: isoOrNull(row.queued_at),
  startedAt: isoOrNull(row.started_at),
  endedAt: isoOrNull(row.ended_at),
});

/** The name of an account's pool; null when it is no pool. */
export const poolOf = (account: string): string | null =>
  account.startsWith("pool:") ? account.slice(5) : null;

export const shapeWaiting = (row: WaitingRow): Waiting => ({
  taskId: row.task_id === "" ? null : row.task_id,
  mapIndex: row.map_index,
  try: row.try,
  pool: poolOf(row.account),
  slots: row.slots,
  reason: row.reason,
  since: iso(row.since),
});

/** The page of a run in Temporal Web. */
export function temporalUrl(web: TemporalWeb | null, dagId: string, runId: string): string | null {
  if (web === null) return null;
  const workflow = encodeURIComponent(workflowIdOf(dagId, runId));
  return `${web.url.replace(/\/+$/, "")}/namespaces/${encodeURIComponent(web.namespace)}/workflows/${workflow}`;
}

/** The part of a page that was asked for, and the key of its last row when there is more behind it. */
export function cutPage<T>(rows: readonly T[], limit: number, key: (row: T) => string): [T[], string | null] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return [page, rows.length > limit && last !== undefined ? key(last) : null];
}

/** An answer in JSON, for a route's `responses`. */
export const json = <S extends z.ZodType>(schema: S, description: string) => ({
  description,
  content: { "application/json": { schema } },
});
