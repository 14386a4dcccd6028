import type { Command } from "commander";
import type { Try, TryList } from "../api/contracts.ts";
import { NotFound } from "../core/errors.ts";
import { RUN_DONE, TASK_DONE } from "../core/states.ts";
import type { Client, TaskOf } from "../remote/index.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { Ended, EXIT, UsageError } from "./failure.ts";
import { printJson, say, withOutput, type Output } from "./output.ts";
import { whole } from "./read.ts";
import { errorText, labelledName, why } from "./run-text.ts";
import { ofTask, runIdOf } from "./runs.ts";

interface LogOptions extends Output, ServerOptions {
  readonly try?: number;
  readonly mapIndex?: number;
  readonly follow?: true;
}

/** Between two looks for a try that has not begun. */
const LOOK_MS = 500;

export function addLogs(tasks: Command): void {
  withServer(withOutput(ofTask(tasks.command("logs"))))
    .description("the log of a task's last try, and its error")
    .option("--try <n>", "of this try; default: the last one", whole(1))
    .option("--map-index <n>", "which instance of a mapped task", whole(0))
    .option("-f, --follow", "as it is written, through retries, until the task is done")
    .option("-q, --quiet", "the log alone")
    .addHelpText(
      "after",
      "\nExamples:\n  meridian tasks logs sales_daily load\n  meridian tasks logs sales_daily load 2026-05-09 --try 1\n  meridian tasks logs sales_daily load --follow",
    )
    .action(async (dagId: string, taskId: string, text: string | undefined, options: LogOptions) => {
      if (options.follow === true && options.output === "json")
        throw new UsageError("bad_option", "--follow has no JSON: leave --output out, or --follow");
      const client = await connect(options);
      const runId = await runIdOf(client, dagId, text);
      const of: TaskOf = { dagId, runId, taskId, mapIndex: options.mapIndex };
      if (options.follow === true) await followTask(client, of, options);
      else await printLog(client, of, options);
    });
}

async function printLog(client: Client, of: TaskOf, options: LogOptions): Promise<void> {
  const list = await client.tasks.tries(of);
  const tried = pick(list, of, options.try);
  let whole = "";
  for (let offset = 0, done = false; !done;) {
    const piece = await client.tasks.log({ ...of, try: tried.try }, offset);
    if (options.output === "json") whole += piece.text;
    else process.stdout.write(piece.text);
    // Of a try that runs, what is there now.
    done = piece.done || piece.text === "";
    offset = piece.nextOffset;
  }
  if (options.output === "json") printJson({ ...of, mapIndex: list.mapIndex, ...tried, log: whole });
  else sayEnd(list, tried, options);
}

export function pick({ tries, waiting, state }: TryList, of: TaskOf, number: number | undefined): Try {
  const found = number === undefined ? tries.at(-1) : tries.find((one) => one.try === number);
  if (found !== undefined) return found;
  const name = `task "${of.taskId}" of ${of.dagId} ${of.runId}`;
  if (tries.length === 0) {
    const because = waiting === null ? "" : `: ${why(waiting)}`;
    throw new NotFound("no_try", `${name} is ${state} and has no try yet${because}`);
  }
  throw new NotFound("no_try", `${name} has no try ${number}; it has ${tries.length}`);
}

function sayEnd(list: TryList, tried: Try, options: LogOptions): void {
  const name = labelledName(list);
  const last = list.tries.at(-1)?.try ?? tried.try;
  const later = last > tried.try ? ` (the last one is try ${last})` : "";
  if (tried.error === null) say(options, `${name}, try ${tried.try}${later}: ${tried.state}`);
  else say(options, errorText(name, tried));
}

/** Each try's log as it is written; ends when the task is done, or with the try that was named. */
async function followTask(client: Client, of: TaskOf, options: LogOptions): Promise<void> {
  const stopping = new AbortController();
  const onInterrupt = (): void => stopping.abort();
  process.once("SIGINT", onInterrupt);
  const call = { signal: stopping.signal };
  let said = "";
  try {
    for (let number = options.try ?? 0; ;) {
      const list = await client.tasks.tries(of, call);
      const next = list.tries.find((one) =>
        options.try !== undefined
          ? one.try === number
          : number === 0
            ? one === list.tries.at(-1)
            : one.try > number,
      );
      if (next !== undefined) {
        say(options, `${labelledName(list)}, try ${next.try}:`);
        for await (const { text } of client.tasks.followLog({ ...of, try: next.try }, 0, call))
          process.stdout.write(text);
        number = next.try;
        const after = await client.tasks.tries(of, call);
        sayEnd(after, after.tries.find((one) => one.try === number) ?? next, options);
        if (options.try !== undefined || TASK_DONE[after.state]) return;
      } else if (TASK_DONE[list.state] || RUN_DONE[(await client.runs.get(of.dagId, of.runId, call)).state]) {
        if (number === 0 || options.try !== undefined) pick(list, of, options.try);
        return;
      } else {
        const because = list.waiting === null ? "" : `: ${why(list.waiting)}`;
        const state = `${labelledName(list)} is ${list.state}${because}`;
        if (state !== said) say(options, state);
        said = state;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        stopping.signal.throwIfAborted();
      }
    }
  } catch (error) {
    if (stopping.signal.aborted) throw new Ended(EXIT.interrupted);
    throw error;
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}
