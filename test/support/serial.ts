/** Serial tasks and graphs as the authoring library makes them, for rows and rules under test. */
import type { SerialGraph, SerialTask } from "../../core/graph.ts";

export function serialTask(
  id: string,
  upstream: readonly number[] = [],
  more: Partial<SerialTask> = {},
): SerialTask {
  return {
    id,
    upstream,
    inputs: {},
    triggerRule: "all_success",
    retries: 0,
    retryDelayMs: 0,
    retryFactor: 1,
    retryMaxDelayMs: null,
    executionTimeoutMs: null,
    pool: "default_pool",
    poolSlots: 1,
    priorityWeight: 1,
    queue: "default",
    isolation: "shared",
    label: "",
    group: null,
    templates: {},
    doc: "",
    ...more,
  };
}

export const serialGraph = (dagId: string, tasks: readonly SerialTask[]): SerialGraph => ({
  format: 1,
  dagId,
  description: "",
  doc: "",
  params: null,
  groups: [],
  owner: "",
  tags: [],
  timetable: { kind: "cron", cron: "0 6 * * *", zone: "Europe/Berlin" },
  zone: "Europe/Berlin",
  startDate: null,
  endDate: null,
  catchup: false,
  maxActiveRuns: 16,
  tasks,
});
