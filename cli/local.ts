import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { connectionsFrom } from "../authoring/connection.ts";
import { runDag } from "../authoring/local.ts";
import { renderTask, runTask } from "../authoring/local-task.ts";
import type { Dag } from "../authoring/collect.ts";
import { dsOf, parseInstant } from "../core/calendar/dates.ts";
import { boundaries } from "../core/calendar/timetable.ts";
import { Refused } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { readConfig } from "../platform/config.ts";
import { maskOf, type Mask } from "../platform/mask.ts";
import { loadDag, ownFrames } from "./dag-files.ts";
import { withOutput, type Output } from "./output.ts";

interface LocalFlags extends Output {
  readonly dag?: string;
  readonly interval?: string;
  readonly conf: string;
  readonly now?: string;
}

const JSON_OBJECT = `expected a JSON object such as '{"city":"berlin"}'`;

/** What all that runs in this process takes. */
function withLocal(command: Command): Command {
  return withOutput(command)
    .option("--dag <id>", "which DAG, when the file has several")
    .option(
      "--interval <date>",
      "a day such as 2015-12-09: its first interval of the schedule; or an instant; default: now",
    )
    .option("--conf <json>", "JSON object handed to the tasks as `conf`", "{}")
    .option("--now <instant>", "what bodies read as the present time; it goes on from there");
}

/** `dags test`: a whole run, without any server. */
export function addDagsTest(dags: Command): void {
  withLocal(dags.command("test <file-or-dag>"))
    .description("run a DAG in this process, without any server")
    .action(async (file: string, flags: LocalFlags) => {
      const { dag, given, mask } = await local(file, flags);
      const quiet = flags.output === "json";
      const run = await runDag(dag, {
        ...given,
        log: (taskId, { level, text }) =>
          quiet ? undefined : console.log(`${taskId.padEnd(16)} ${level.padEnd(5)} ${mask(text)}`),
        onState: (taskId, state) => (quiet ? undefined : console.log(`${taskId.padEnd(16)} → ${state}`)),
      });
      if (quiet) console.log(JSON.stringify(run, null, 2));
      else {
        for (const [taskId, { error }] of Object.entries(run.tasks)) {
          if (error !== null) console.log(`\n${taskId} failed: ${mask(ownFrames(error))}`);
        }
        console.log(`\n${run.dagId} ${run.runId}: ${run.state}`);
      }
      if (run.state !== "success") process.exitCode = 1;
    });
}

/** `tasks test` and `tasks render`: one task, without any server. */
export function addTasksLocal(tasks: Command): void {
  withLocal(tasks.command("test <file-or-dag> <task>"))
    .description("run one try of a task in this process, with inputs of your choice")
    .option("--input <name=json>", "an input's value, or name=@file.json; repeatable", collectInput, {})
    .option("--try <number>", "number of the try", "1")
    .action(
      async (
        file: string,
        taskId: string,
        flags: LocalFlags & { readonly input: Readonly<Record<string, unknown>>; readonly try: string },
      ) => {
        const { dag, given, mask } = await local(file, flags);
        const quiet = flags.output === "json";
        const tried = await runTask(dag, taskId, {
          ...given,
          inputs: flags.input,
          try: wholeTry(flags.try),
          log: (_task, { level, text }) =>
            quiet ? undefined : console.log(`${level.padEnd(5)} ${mask(text)}`),
        });
        if (quiet) console.log(JSON.stringify(tried, null, 2));
        else {
          if (tried.output !== undefined) console.log(JSON.stringify(tried.output, null, 2));
          if (tried.error !== null) console.log(`\n${mask(ownFrames(tried.error))}`);
          const why = tried.message === null ? "" : `: ${mask(tried.message)}`;
          console.log(`\n${taskId} of ${tried.dagId} ${tried.runId}: ${tried.state}${why}`);
        }
        if (tried.state !== "success" && tried.state !== "skipped") process.exitCode = 1;
      },
    );
  withLocal(tasks.command("render <file-or-dag> <task>"))
    .description("show a task's templates as its body would get them")
    .option("--try <number>", "number of the try", "1")
    .action(async (file: string, taskId: string, flags: LocalFlags & { readonly try: string }) => {
      const { dag, given } = await local(file, flags);
      const rendered = await renderTask(dag, taskId, { ...given, try: wholeTry(flags.try) });
      if (flags.output === "json") return console.log(JSON.stringify(rendered, null, 2));
      const rows = Object.entries(rendered);
      if (rows.length === 0) return console.log(`task "${taskId}" has no templates`);
      const width = Math.max(...rows.map(([name]) => name.length));
      for (const [name, value] of rows) {
        console.log(`${name.padEnd(width)}  ${typeof value === "string" ? value : JSON.stringify(value)}`);
      }
    });
}

async function local(file: string, flags: LocalFlags) {
  const config = readConfig();
  const dag: Dag = await loadDag(config, file, flags.dag);
  const conf = jsonObject(flags.conf);
  // As at a trigger: refused once, not by each task.
  await dag.readParams(conf);
  const mask: Mask = maskOf(config.connections);
  const { zone } = dag.graph;
  const now = flags.now === undefined ? undefined : parseInstant(flags.now, zone);
  const given = {
    logicalAt: flags.interval === undefined ? undefined : startOn(dag.graph, flags.interval),
    conf,
    connection: connectionsFrom(config.env),
    now,
  };
  return { dag, given, mask };
}

export function jsonObject(text: string): Record<string, unknown> {
  const value = parsed(text, `--conf ${text}: ${JSON_OBJECT}`);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new Refused("bad_conf", `--conf ${text}: ${JSON_OBJECT}`);
}

function parsed(text: string, problem: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused("bad_json", problem, { cause: error });
  }
}

function collectInput(text: string, before: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const at = text.indexOf("=");
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1) throw new Refused("bad_input", `--input ${text}: expected name=JSON or name=@file.json`);
  return {
    ...before,
    [name]: value.startsWith("@") ? fromFile(name, value.slice(1)) : fromText(name, value),
  };
}

function fromText(name: string, text: string): unknown {
  return parsed(
    text,
    `--input ${name}=${text}: expected JSON; a text has quotes of its own, as in --input '${name}="berlin"'`,
  );
}

function fromFile(name: string, path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Refused("bad_input", `--input ${name}=@${path}: ${(error as Error).message}`, { cause: error });
  }
  return parsed(text, `--input ${name}=@${path}: the file is no JSON`);
}

function wholeTry(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new Refused("bad_option", `--try ${text}: expected a whole number from 1`);
}

/** A day stands for the first interval that starts on it; where there is none, and for an instant, it is the instant. */
function startOn({ timetable, zone }: SerialGraph, text: string): number {
  const at = parseInstant(text, zone);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return at;
  const startAt = boundaries(timetable).atOrAfter(at);
  return startAt !== null && dsOf(startAt, zone) === text ? startAt : at;
}
