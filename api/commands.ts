import { randomUUID } from "node:crypto";
import { createRoute, type z } from "@hono/zod-openapi";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import type { RunCommand } from "../core/run-command.ts";
import type { Selection } from "../core/selection.ts";
import { readDag } from "../db/read/dags.ts";
import { runIdsBetween } from "../db/read/runs.ts";
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
import { graphOf, preview, previewIn, selectionOf } from "./preview.ts";
import { findRun } from "./runs.ts";
import { json } from "./shape.ts";

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

  async function inForce(dagId: string): Promise<number> {
    const dag = await readDag(db, dagId);
    if (dag?.active === true && dag.version !== null) return dag.version;
    throw new Refused(
      "inactive_dag",
      `dag "${dagId}" is not active, so no version of it is in force: clear the run with its original version, or bring the DAG's file back first`,
    );
  }

  async function perform(dagId: string, runId: string, asked: Asked, by: By): Promise<CommandDone> {
    const command = { id: by.id ?? randomUUID(), ...asked } as RunCommand;
    const answer = await deps.client.command({ dagId, runId, command, who: by.who });
    return { dagId, runId, dryRun: false, changed: answer.cells, removed: answer.removed ?? 0, cells: [] };
  }

  async function chosen(
    dagId: string,
    runId: string,
    { dryRun, ...body }: Omit<z.infer<typeof MarkBody>, "as">,
    by: By,
    asked: (selection: Selection) => Asked,
  ): Promise<CommandDone> {
    if (dryRun === true) return await preview(db, await findRun(db, dagId, runId), body);
    const isPlain = body.groups === undefined || body.groups.length === 0;
    const graph = isPlain ? null : await graphOf(db, runId, (await findRun(db, dagId, runId)).version);
    return await perform(dagId, runId, asked(selectionOf(graph, body)), by);
  }

  async function clear(
    dagId: string,
    runId: string,
    { version: wanted, ...body }: z.infer<typeof ClearBody>,
    by: By,
  ): Promise<CommandDone> {
    if (wanted === "latest") {
      const row = await findRun(db, dagId, runId);
      const version = await inForce(dagId);
      if (version !== row.version) {
        if (body.dryRun === true) return await previewIn(db, row, version, body);
        const selection = selectionOf(await graphOf(db, runId, version), body);
        return await perform(dagId, runId, { kind: "clear", selection, version }, by);
      }
    }
    return await chosen(dagId, runId, body, by, (selection) => ({ kind: "clear", selection }));
  }

  return newRoutes()
    .openapi(clearRun, async (c) => {
      const { dagId, runId } = c.req.valid("param");
      const body = c.req.valid("json");
      const by = { who: c.get("who"), id: c.get("claim")?.key };
      return c.json(await clear(dagId, runId, body, by), 200);
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
          const done = await clear(dagId, runId, body, by);
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
