import { WorkflowUpdateFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import type { CommandAnswer } from "../core/progress.ts";
import type { Pool } from "../db/connection.ts";
import { audit, endWaitingRun, findRun, type FoundRun } from "../db/runs.ts";
import type { RunStarter } from "./starter.ts";
import type { CommandRequest } from "./types.ts";

export interface CommandDeps {
  readonly pool: Pool;
  readonly starter: RunStarter;
}

export async function commandRun(deps: CommandDeps, request: CommandRequest): Promise<CommandAnswer> {
  const { dagId, runId, command, who } = request;
  const run = await findRun(deps.pool, dagId, runId);
  if (run === null) throw new NotFound("no_run", `dag "${dagId}" has no run "${runId}"`);
  const answer = (await endWaiting(deps, run, request)) ?? (await ask(deps, run, request));
  const { id: _, kind, ...detail } = command;
  await audit(deps.pool, { who, action: kind, dagId, runId, detail });
  return answer;
}

async function ask(deps: CommandDeps, run: FoundRun, request: CommandRequest): Promise<CommandAnswer> {
  const { dagId, runId, command } = request;
  const { run_type: runType, standing } = run;
  const toStart = { dagId, runId, run: run.run, runType, logicalAt: run.logical_at.getTime(), standing };
  try {
    return await deps.starter.command(toStart, command);
  } catch (error) {
    throw refusalOf(error, request) ?? error;
  }
}

/** What the run itself refuses a command with. */
function refusalOf(error: unknown, { dagId, runId }: CommandRequest): Error | null {
  if (!(error instanceof WorkflowUpdateFailedError)) return null;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure) || cause.type === undefined || cause.type === null) return null;
  const text = `run "${runId}" of dag "${dagId}": ${cause.message}`;
  return cause.type === "no_task" ? new NotFound(cause.type, text) : new Conflict(cause.type, text);
}

/** A run that waits for its place for the first time has no workflow yet. Null: it is none. */
async function endWaiting(
  deps: CommandDeps,
  { run, waits_to_begin }: FoundRun,
  { dagId, runId, command }: CommandRequest,
): Promise<CommandAnswer | null> {
  if (!waits_to_begin) return null;
  if (command.kind !== "end") {
    throw new Refused(
      "run_not_begun",
      `run "${runId}" of dag "${dagId}" has not begun: there is nothing to ${command.kind} yet`,
    );
  }
  return (await endWaitingRun(deps.pool, run, command.as, command.reason)) ? { cells: 0 } : null;
}
