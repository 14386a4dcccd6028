/** Waiting for a run: its states on stderr, its end on stdout, the exit code by how it ended. */
import type { Cell, RunDetail } from "../api/contracts.ts";
import { RUN_DONE } from "../core/states.ts";
import { ApiError, type Client } from "../remote/index.ts";
import { called } from "./call.ts";
import { Ended, EXIT } from "./failure.ts";
import { printJson, say, type Output } from "./output.ts";
import { cellName, labelledName, printFailures, why } from "./run-text.ts";

export interface WaitOptions extends Output {
  readonly timeout?: number;
}

export async function waitAndEnd(
  client: Client,
  dagId: string,
  runId: string,
  options: WaitOptions,
): Promise<void> {
  const run = await wait(client, dagId, runId, options);
  if (options.output === "json") printJson(run);
  else console.log(`${dagId} ${runId}: ${run.state}${run.reason === null ? "" : ` (${run.reason})`}`);
  if (run.state === "success") return;
  if (options.quiet !== true) await printFailures(client, run, console.error);
  throw new Ended(EXIT.failed);
}

/** Ctrl-C ends the waiting, and leaves the run alone. */
async function wait(client: Client, dagId: string, runId: string, options: WaitOptions): Promise<RunDetail> {
  const stopping = new AbortController();
  const onInterrupt = (): void => stopping.abort();
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onInterrupt);
  const known = new Map<string, string>();
  const heard = (cells: readonly Cell[]): void => {
    for (const cell of cells) {
      const text = `${cell.state}${cell.try > 1 ? ` (try ${cell.try})` : ""}`;
      if (known.get(cellName(cell)) === text || cell.state === "none") continue;
      known.set(cellName(cell), text);
      say(options, `  ${labelledName(cell)}: ${text}`);
    }
  };
  try {
    return await client.runs.wait(dagId, runId, {
      signal: stopping.signal,
      ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
      // Its end is what stdout says.
      onRun: (run) => {
        if (!RUN_DONE[run.state] || options.output === "json")
          say(options, `${dagId} ${runId}: ${run.state}`);
      },
      onCells: heard,
    });
  } catch (error) {
    if (error instanceof ApiError && error.code === "wait_timeout" && options.quiet !== true)
      await tellWaits(client, dagId, runId);
    if (!stopping.signal.aborted) throw error;
    console.error(`\nno longer waiting; the run goes on: ${called(`runs wait ${dagId} ${runId}`)}`);
    throw new Ended(EXIT.interrupted);
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onInterrupt);
  }
}

/** More than these are for `runs show`. */
const TOLD = 5;

/** What a run still waits for, as far as anybody knows. */
async function tellWaits(client: Client, dagId: string, runId: string): Promise<void> {
  const waiting = await client.runs.get(dagId, runId).then(
    (run) => run.waiting,
    // That the time is over is told all the same.
    () => [],
  );
  for (const one of waiting.slice(0, TOLD)) {
    const name = one.taskId === null ? "the run" : cellName({ taskId: one.taskId, mapIndex: one.mapIndex });
    console.error(`  ${name} waits: ${why(one)}`);
  }
  if (waiting.length > TOLD) console.error(`  … and ${waiting.length - TOLD} more tasks wait`);
}
