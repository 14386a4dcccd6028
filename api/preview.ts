/** Which cells of a run a command means, and what would become of them. */
import type { z } from "@hono/zod-openapi";
import { Conflict, NotFound } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { unpack } from "../core/packed.ts";
import { planOf, type RunPlan } from "../core/plan.ts";
import { cellAt, type At, type RunProgress } from "../core/progress.ts";
import { remap } from "../core/remap.ts";
import { RUN_OPEN, unknownText } from "../core/run-command.ts";
import { select, stateOf, type Selection } from "../core/selection.ts";
import { progressOf } from "../core/shown-progress.ts";
import { RUN_DONE } from "../core/states.ts";
import type { Db } from "../db/connection.ts";
import { readGraph } from "../db/read/dags.ts";
import { readCells, readProgress, type RunDetailRow } from "../db/read/runs.ts";
import type { ClearBody, CommandDone, MarkBody } from "./contracts-commands.ts";
import { shapeCell } from "./shape.ts";

type Body = Omit<z.infer<typeof ClearBody> | z.infer<typeof MarkBody>, "version" | "as">;
type Cells = CommandDone["cells"];

export async function graphOf(db: Db, runId: string, version: number): Promise<SerialGraph> {
  const graph = await readGraph(db, version);
  if (graph !== null) return graph;
  throw new NotFound("no_version", `the version of run "${runId}" is not stored any more`);
}

/** As the run is shown now. */
export async function preview(db: Db, row: RunDetailRow, body: Body): Promise<CommandDone> {
  const graph = await graphOf(db, row.run_id, row.version);
  const plan = planOf(graph);
  const progress = progressOf(plan, (await readCells(db, row.run)).map(shapeCell));
  return done(row, chosen(plan, progress, row, selectionOf(graph, body)), []);
}

/** With another version, as the run's workflow will see it: from where the run stood at its end. */
export async function previewIn(
  db: Db,
  row: RunDetailRow,
  version: number,
  body: Body,
): Promise<CommandDone> {
  const run = `run "${row.run_id}" of dag "${row.dag_id}"`;
  if (!RUN_DONE[row.state]) throw new Conflict(RUN_OPEN.code, `${run}: ${RUN_OPEN.message}`);
  const stood = await readProgress(db, row.run);
  if (stood === null)
    throw new Conflict("run_forgotten", `${run}: how far it came is not kept any more: trigger a new one`);
  const from = planOf(await graphOf(db, row.run_id, row.version));
  const graph = await graphOf(db, row.run_id, version);
  const to = planOf(graph);
  const { progress, fresh, removed } = remap(from, to, unpack(stood));
  const begun = fresh.map((task): Cells[number] => {
    const { id } = to.tasks[task]!;
    const change = from.positions.has(id) ? "anew" : "new";
    return { ...cellOf(to, progress, { task, index: -1 }), change };
  });
  const gone = removed.map((cell): Cells[number] => ({ ...cell, change: "removed" }));
  return done(row, [...chosen(to, progress, row, selectionOf(graph, body)), ...begun], gone);
}

function chosen(plan: RunPlan, progress: RunProgress, { run_id }: RunDetailRow, selection: Selection): Cells {
  const found = select(plan, progress, selection);
  if (found.kind === "unknown") throw new NotFound("no_task", `run "${run_id}": ${unknownText(plan, found)}`);
  return found.cells.filter((at) => stateOf(progress, at) !== "none").map((at) => cellOf(plan, progress, at));
}

function cellOf(plan: RunPlan, progress: RunProgress, at: At): Cells[number] {
  const { state, try: number } = cellAt(progress, at);
  return { taskId: plan.tasks[at.task]!.id, mapIndex: at.index, state, try: number, change: null };
}

const done = ({ dag_id, run_id }: RunDetailRow, cells: Cells, removed: Cells): CommandDone => ({
  dagId: dag_id,
  runId: run_id,
  dryRun: true,
  changed: cells.length,
  removed: removed.length,
  cells: [...cells, ...removed],
});

/** Groups as the tasks in them, at any depth. */
export function selectionOf(graph: SerialGraph | null, body: Body): Selection {
  const { tasks = [], groups = [], upstream = false, downstream = false, onlyFailed = false } = body;
  const inside = groups.flatMap((groupId) => tasksIn(graph!, groupId));
  return {
    tasks: [
      ...tasks.map(({ taskId, mapIndex }) => ({ taskId, ...(mapIndex !== undefined && { mapIndex }) })),
      ...inside.map((taskId) => ({ taskId })),
    ],
    upstream,
    downstream,
    onlyFailed,
  };
}

function tasksIn(graph: SerialGraph, groupId: string): string[] {
  const position = graph.groups.findIndex(({ id }) => id === groupId);
  if (position < 0) throw new NotFound("no_group", `the run's version has no group "${groupId}"`);
  const isInside = (group: number | null): boolean =>
    group !== null && (group === position || isInside(graph.groups[group]!.parent));
  return graph.tasks.filter(({ group }) => isInside(group)).map(({ id }) => id);
}
