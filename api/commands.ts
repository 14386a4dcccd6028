import { randomUUID } from "node:crypto";
import { createRoute, type z } from "@hono/zod-openapi";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { planOf } from "../core/plan.ts";
import type { RunCommand } from "../core/run-command.ts";
import { select, stateOf, type Selection } from "../core/selection.ts";
import { progressOf } from "../core/shown-progress.ts";
import { readDag, readGraph } from "../db/read/dags.ts";
import { readCells, runIdsBetween } from "../db/read/runs.ts";
import {
  ClearBody,
  ClearRunsBody,
  CommandDone,
  EndBody,
  MarkBody,
  RunsCleared,
} from "./contracts-commands.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { DagPath, newRoutes, RunPath } from "./requests.ts";
import { findRun } from "./runs.ts";
import { json, shapeCell } from "./shape.ts";

const bodyOf = <T extends z.ZodType>(schema: T) => ({
  params: RunPath,
  body: { content: { "application/json": { schema } } },
});
const responses = { 200: json(CommandDone, "It is sure to happen, or would be with a dry run") };

const clearRun = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/clear",
  summary: "Run tasks again, while the run goes on or after its end. 409 says what stands against it",
  request: bodyOf(ClearBody),
  responses,
});
const clearRuns = createRoute({
  method: "post",
  path: "/dags/{dagId}/clear",
  summary:
    "Run tasks of all runs in a range of logical dates again, oldest first; each says what became of it",
  request: { params: DagPath, body: { content: { "application/json": { schema: ClearRunsBody } } } },
  responses: { 200: json(RunsCleared, "What became of each run") },
});
const markRun = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/mark",
  summary: "Count tasks as success, failed or skipped; what runs of them is stopped",
  request: bodyOf(MarkBody),
  responses,
});
const endRun = createRoute({
  method: "post",
  path: "/dags/{dagId}/runs/{runId}/end",
  summary: "End a run before its time; teardowns whose setups succeeded still run",
  request: bodyOf(EndBody),
  responses,
});

/** Runs of one request: each is told by itself, and whoever asked waits. */
const MOST_RUNS = 200;

interface By {
  readonly who: string;
  /** The key of the request, if it has one: asked again, it is the same command. */
  readonly id: string | undefined;
}

type Asked = RunCommand extends infer C ? (C extends RunCommand ? Omit<C, "id"> : never) : never;

export const commandRoutes = (deps: AppDeps) => {
  const db = deps.db;

  async function graphOf(dagId: string, runId: string) {
    const row = await findRun(db, dagId, runId);
    const graph = await readGraph(db, row.version);
    if (graph === null)
      throw new NotFound("no_version", `the version of run "${runId}" is not stored any more`);
    return { row, graph };
  }

  /** What a selection would change, as the run is shown now. */
  async function preview(
    dagId: string,
    runId: string,
    body: z.infer<typeof ClearBody>,
  ): Promise<CommandDone> {
    const { row, graph } = await graphOf(dagId, runId);
    const plan = planOf(graph);
    const progress = progressOf(plan, (await readCells(db, row.run)).map(shapeCell));
    const found = select(plan, progress, selectionOf(graph, body));
    if (found.kind === "unknown")
      throw new NotFound("no_task", `run "${runId}" has no task "${found.taskId}"`);
    const cells = found.cells
      .filter((at) => stateOf(progress, at) !== "none")
      .map((at) => {
        const { own, instances } = progress.tasks[at.task]!;
        const cell = at.index < 0 ? own : instances![at.index]!;
        return { taskId: plan.tasks[at.task]!.id, mapIndex: at.index, state: cell.state, try: cell.try };
      });
    return { dagId, runId, dryRun: true, changed: cells.length, cells };
  }

  async function perform(dagId: string, runId: string, asked: Asked, by: By): Promise<CommandDone> {
    const command = { id: by.id ?? randomUUID(), ...asked } as RunCommand;
    const { cells: changed } = await deps.client.command({ dagId, runId, command, who: by.who });
    return { dagId, runId, dryRun: false, changed, cells: [] };
  }

  async function selected(dagId: string, runId: string, body: z.infer<typeof ClearBody>): Promise<Selection> {
    const isPlain = body.groups === undefined || body.groups.length === 0;
    return selectionOf(isPlain ? null : (await graphOf(dagId, runId)).graph, body);
  }

  async function chosen(
    dagId: string,
    runId: string,
    body: z.infer<typeof ClearBody>,
    by: By,
    asked: (selection: Selection) => Asked,
  ): Promise<CommandDone> {
    if (body.dryRun === true) return await preview(dagId, runId, body);
    return await perform(dagId, runId, asked(await selected(dagId, runId, body)), by);
  }

  return newRoutes()
    .openapi(clearRun, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const body = c.req.valid("json");
      const by = { who: c.get("who"), id: c.get("claim")?.key };
      return c.json(await chosen(dagId, runId, body, by, clearing), 200);
    })
    .openapi(clearRuns, async (c) => {
      const { dagId } = c.req.valid("param");
      const { from, until, ...body } = c.req.valid("json");
      const found = await runIdsBetween(db, dagId, from, until, MOST_RUNS + 1);
      if (found.length === 0 && (await readDag(db, dagId)) === null) throw noSuchDag(dagId);
      if (found.length > MOST_RUNS) {
        const text = `dag "${dagId}" has more than ${MOST_RUNS} runs from ${from} until ${until}: choose a shorter range`;
        throw new Refused("too_many_runs", text);
      }
      const runs: RunsCleared["runs"] = [];
      // One after the other: they get their places in this order (K33).
      for (const runId of found) {
        const claim = c.get("claim");
        const by = { who: c.get("who"), id: claim === undefined ? undefined : `${claim.key} ${runId}` };
        try {
          const done = await chosen(dagId, runId, body, by, clearing);
          runs.push({ runId, changed: done.changed, refused: null });
        } catch (error) {
          if (!(error instanceof Conflict || error instanceof NotFound || error instanceof Refused))
            throw error;
          runs.push({ runId, changed: 0, refused: { code: error.code, message: error.message } });
        }
      }
      return c.json({ dagId, dryRun: body.dryRun === true, runs }, 200);
    })
    .openapi(markRun, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const { as, ...body } = c.req.valid("json");
      const by = { who: c.get("who"), id: c.get("claim")?.key };
      const marking = (selection: Selection): Asked => ({ kind: "mark", as, selection });
      return c.json(await chosen(dagId, runId, body, by, marking), 200);
    })
    .openapi(endRun, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const { as, reason } = c.req.valid("json");
      const by = { who: c.get("who"), id: c.get("claim")?.key };
      const why = reason ?? `${as} by ${by.who}`;
      return c.json(await perform(dagId, runId, { kind: "end", as, reason: why }, by), 200);
    });
};

const clearing = (selection: Selection): Asked => ({ kind: "clear", selection });

/** Groups as the tasks in them, at any depth. */
function selectionOf(graph: SerialGraph | null, body: z.infer<typeof ClearBody>): Selection {
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
