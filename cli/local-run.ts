/** What `dags test`, `tasks test` and `tasks render` do: in this very process, so that a debugger stops in it. */
import { connectionsFrom } from "../authoring/connection.ts";
import { runDag } from "../authoring/local.ts";
import { renderTask, runTask } from "../authoring/local-task.ts";
import type { Dag } from "../authoring/collect.ts";
import type { BodyError } from "../core/body.ts";
import { parseInstant } from "../core/calendar/dates.ts";
import { isDay, startOnDay } from "../core/calendar/day.ts";
import { Refused } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { instanceName } from "../core/instance-name.ts";
import { paramErrorsText } from "../core/params.ts";
import { readConfig } from "../platform/config.ts";
import { maskOf, type Mask } from "../platform/mask.ts";
import { checkParams } from "../platform/params.ts";
import { loadDag, ownFrames } from "./dag-files.ts";
import { guarded } from "./local-guard.ts";
import type { DagFlags, LocalFlags, TaskFlags } from "./local.ts";
import { jsonObject } from "./read.ts";
import { clean } from "./table.ts";

export const testDag = (file: string, flags: DagFlags) => guarded(() => dagTested(file, flags));
export const testTask = (file: string, taskId: string, flags: TaskFlags) =>
  guarded(() => taskTested(file, taskId, flags));
export const renderTemplates = (file: string, taskId: string, flags: Omit<TaskFlags, "input">) =>
  guarded(() => templatesRendered(file, taskId, flags));

async function dagTested(file: string, flags: DagFlags): Promise<void> {
  const { dag, given, mask } = await local(file, flags);
  const quiet = flags.output === "json";
  const width = Math.min(LONGEST_NAME, Math.max(...dag.graph.tasks.map(({ id }) => id.length), 0));
  const labels = new Map<string, string>();
  const called = (taskId: string): string => {
    const label = labels.get(taskId);
    return label === undefined ? taskId : labelled(taskId, mask(label));
  };
  const name = (taskId: string): string => called(taskId).padEnd(width);
  const run = await runDag(dag, {
    ...given,
    events: flags.event,
    log: (taskId, { level, text }) =>
      quiet ? undefined : printLines(`${name(taskId)} ${level.padEnd(5)} `, mask(text)),
    onLabel: (taskId, label) => labels.set(taskId, label),
    onState: (taskId, state) => (quiet ? undefined : console.log(`${name(taskId)} → ${state}`)),
    onFailedTry: (taskId, number, error) =>
      quiet ? undefined : console.log(`${name(taskId)} try ${number} failed: ${mask(inOneLine(error))}`),
  });
  if (quiet) {
    const tasks = Object.entries(run.tasks).map(([id, task]) => [
      id,
      { ...task, error: readable(task.error) },
    ]);
    console.log(jsonOf({ ...run, tasks: Object.fromEntries(tasks) as unknown }, mask));
  } else {
    console.log();
    for (const [taskId, { output }] of Object.entries(run.tasks)) {
      if (output !== undefined) console.log(`${name(taskId)} = ${short(mask(JSON.stringify(output)))}`);
    }
    for (const [taskId, { error }] of Object.entries(run.tasks)) {
      if (error !== null) console.log(`\n${called(taskId)} failed: ${mask(ownFrames(error))}`);
    }
    console.log(`\n${run.dagId} ${run.runId}: ${run.state}`);
  }
  if (run.state !== "success") process.exitCode = 1;
}

/** `load[2]` by its label. */
function labelled(instance: string, mapLabel: string): string {
  const at = instance.lastIndexOf("[");
  return instanceName({
    taskId: instance.slice(0, at),
    mapIndex: Number(instance.slice(at + 1, -1)),
    mapLabel: clean(mapLabel),
  });
}

/** Names beyond it push their own line out of the column. */
const LONGEST_NAME = 48;

/** What was thrown, and the first place of the author's; the end of the run has all of it for the last try. */
function inOneLine(error: BodyError): string {
  const [first = "", ...rest] = ownFrames(error).split("\n");
  const frame = rest.find((line) => /^\s+at /.test(line))?.trim();
  return short(frame === undefined ? first : `${first}  ${frame}`);
}

/** Texts are masked as they are: in JSON a secret with a quote reads otherwise. */
const jsonOf = (value: unknown, mask: Mask): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? mask(part) : part), 2);

/** With the author's places alone. */
const readable = (error: BodyError | null): BodyError | null =>
  error?.stack === undefined ? error : { ...error, stack: ownFrames(error) };

/** A text of several lines stands below its first one. */
function printLines(head: string, text: string): void {
  console.log(head + text.split("\n").join(`\n${" ".repeat(head.length)}`));
}

/** An output is a line here; JSON has all of it. */
const SHOWN = 200;
const short = (text: string): string =>
  text.length <= SHOWN
    ? text
    : `${text.slice(0, SHOWN)}… (${text.length} characters; all of it by --output json)`;

async function taskTested(file: string, taskId: string, flags: TaskFlags): Promise<void> {
  const { dag, given, mask } = await local(file, flags);
  const quiet = flags.output === "json";
  const tried = await runTask(dag, taskId, {
    ...given,
    inputs: flags.input,
    try: flags.try,
    log: (_task, { level, text }) => (quiet ? undefined : printLines(`${level.padEnd(5)} `, mask(text))),
  });
  if (quiet) console.log(jsonOf({ ...tried, error: readable(tried.error) }, mask));
  else {
    if (tried.output !== undefined) console.log(jsonOf(tried.output, mask));
    if (tried.error !== null) console.log(`\n${mask(ownFrames(tried.error))}`);
    const why = tried.message === null ? "" : `: ${mask(tried.message)}`;
    console.log(`\n${taskId} of ${tried.dagId} ${tried.runId}: ${tried.state}${why}`);
  }
  if (!["success", "skipped", "deferred"].includes(tried.state)) process.exitCode = 1;
}

async function templatesRendered(
  file: string,
  taskId: string,
  flags: Omit<TaskFlags, "input">,
): Promise<void> {
  const { dag, given } = await local(file, flags);
  const rendered = await renderTask(dag, taskId, { ...given, try: flags.try });
  if (flags.output === "json") return console.log(JSON.stringify(rendered, null, 2));
  const rows = Object.entries(rendered);
  if (rows.length === 0) return console.log(`task "${taskId}" has no templates`);
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) {
    console.log(`${name.padEnd(width)}  ${typeof value === "string" ? value : JSON.stringify(value)}`);
  }
}

async function local(file: string, flags: LocalFlags) {
  const config = readConfig();
  const dag: Dag = await loadDag(config, file, flags.dag);
  const conf = jsonObject("--conf", flags.conf);
  // As at a trigger: refused once, not by each task.
  checkConf(dag.graph, conf);
  const mask: Mask = maskOf(config.connections);
  const { zone } = dag.graph;
  const now = flags.now === undefined ? undefined : parseInstant(flags.now, zone);
  const given = {
    logicalAt: flags.interval === undefined ? undefined : startOf(dag.graph, flags.interval),
    conf,
    connection: connectionsFrom(config.env),
    now,
  };
  return { dag, given, mask };
}

/** What the schema alone refuses: `z.coerce` would take in this process what no trigger brings to a body. */
function checkConf({ dagId, params }: SerialGraph, conf: Readonly<Record<string, unknown>>): void {
  const errors = params === null ? [] : checkParams(params, conf);
  if (errors.length === 0) return;
  throw new Refused(
    "bad_params",
    `conf does not fit the params of dag "${dagId}": ${paramErrorsText(errors)}`,
  );
}

const startOf = (graph: SerialGraph, text: string): number =>
  isDay(text) ? startOnDay(text, graph) : parseInstant(text, graph.zone);
