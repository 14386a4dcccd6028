import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { runDag, type LocalRun } from "../authoring/local.ts";
import { connectionsFrom } from "../authoring/connection.ts";
import { dsOf, parseInstant } from "../core/calendar/dates.ts";
import { boundaries } from "../core/calendar/timetable.ts";
import type { SerialGraph } from "../core/graph.ts";
import { checkRequestedId } from "../core/ids.ts";
import { DefinitionError, MeridianError, NotFound, Refused } from "../core/errors.ts";
import { linkPackages } from "../platform/code-folder.ts";
import { readConfig } from "../platform/config.ts";
import { maskOf } from "../platform/mask.ts";
import { loadDags } from "../processor/validate.ts";
import { apiClient } from "./api-url.ts";
import { printRows, withOutput, type Output } from "./output.ts";

/** `meridian dags …`: the names Airflow users know. */
export function dagCommands(program: Command): void {
  const dags = program.command("dags").description("DAGs: list, trigger, pause, test");
  withOutput(dags.command("list").description("all DAGs with schedule, state and next run"))
    .option("--search <text>", "part of an id")
    .action(async ({ output, search }: Output & { search?: string }) => {
      const api = apiClient(readConfig());
      const rows = [];
      for (let after: string | undefined, more = true; more;) {
        const answer = await api.dags.$get({
          query: { limit: "1000", ...(search && { search }), ...(after && { after }) },
        });
        const page = await answer.json();
        rows.push(...page.dags);
        after = page.after ?? undefined;
        more = page.after !== null;
      }
      const shown =
        output === "json"
          ? rows
          : rows.map((dag) => ({
              ...dag,
              state: dag.active ? (dag.paused ? "paused" : "active") : "no file defines it",
              nextDueAt: dag.active && !dag.paused ? dag.nextDueAt : null,
              lastRun: dag.lastRuns.at(-1)?.state ?? null,
            }));
      printRows(shown, output, ["dagId", "schedule", "state", "nextDueAt", "lastRun", "owner"]);
    });
  withOutput(dags.command("trigger <dag>").description("create and start a run"))
    .option("--logical-date <instant>", "ISO instant; default: now")
    .option("--conf <json>", "JSON object handed to the tasks as `conf`", "{}")
    .action(
      async (dag: string, { output, logicalDate, conf }: Output & { logicalDate?: string; conf: string }) => {
        const dagId = checkRequestedId("dag", dag);
        const api = apiClient(readConfig());
        const json = { conf: jsonObject(conf), ...(logicalDate && { logicalDate }) };
        const run = await (await api.dags[":dagId"].runs.$post({ param: { dagId }, json })).json();
        printRows([run], output, ["dagId", "runId", "state", "workflowId"]);
      },
    );
  for (const action of ["pause", "unpause"] as const) {
    dags
      .command(`${action} <dag>`)
      .description(action === "pause" ? "create no more runs by schedule" : "create runs by schedule again")
      .option("--reason <text>", "why")
      .action(async (dag: string, { reason }: { reason?: string }) => {
        const param = { dagId: checkRequestedId("dag", dag) };
        const one = apiClient(readConfig()).dags[":dagId"];
        if (action === "pause")
          await one.pause.$post({ param, json: reason === undefined ? {} : { reason } });
        else await one.unpause.$post({ param });
        console.log(`${dag} is ${action}d`);
      });
  }
  withOutput(dags.command("test <file>").description("run a DAG in this process, without any server"))
    .option("--dag <id>", "which DAG, when the file has several")
    .option(
      "--interval <date>",
      "a day such as 2015-12-09: its first interval of the schedule; or an instant; default: now",
    )
    .option("--conf <json>", "JSON object handed to the tasks as `conf`", "{}")
    .action(async (file: string, options: Output & { dag?: string; interval?: string; conf: string }) => {
      const run = await testDag(file, options);
      if (options.output === "json") console.log(JSON.stringify(run, null, 2));
      if (run.state !== "success") process.exitCode = 1;
    });
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new Refused("bad_conf", `--conf ${text}: expected a JSON object such as '{"city":"berlin"}'`);
}

async function testDag(
  file: string,
  options: Output & { dag?: string; interval?: string; conf: string },
): Promise<LocalRun> {
  const config = readConfig();
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new NotFound("no_file", `there is no file ${file}; expected a DAG file such as dags/hello.ts`);
  const project = projectOf(file);
  const home = config.env["MERIDIAN_HOME"] === undefined ? join(project, ".meridian") : resolve(config.home);
  linkPackages(home, project);
  const dags = await loadDags(file, home).catch((error: unknown) => {
    throw error instanceof MeridianError ? error : importError(file, error);
  });
  const ids = dags.map((dag) => dag.graph.dagId);
  const dag =
    options.dag === undefined && dags.length === 1
      ? dags[0]
      : dags.find(({ graph }) => graph.dagId === options.dag);
  if (dag === undefined) {
    throw new NotFound(
      "no_dag",
      options.dag === undefined
        ? `${file} has ${ids.length} DAGs: name one of ${ids.join(", ")} with --dag`
        : `${file} has no dag "${options.dag}"; it has ${ids.join(", ")}`,
    );
  }
  const quiet = options.output === "json";
  const mask = maskOf(config.connections);
  const run = await runDag(dag, {
    logicalAt: options.interval === undefined ? undefined : startOn(dag.graph, options.interval),
    conf: jsonObject(options.conf),
    connection: connectionsFrom(config.env),
    log: (taskId, { level, text }) =>
      quiet ? undefined : console.log(`${taskId.padEnd(16)} ${level.padEnd(5)} ${mask(text)}`),
    onState: (taskId, state) => (quiet ? undefined : console.log(`${taskId.padEnd(16)} → ${state}`)),
  });
  if (!quiet) {
    for (const [taskId, { error }] of Object.entries(run.tasks)) {
      if (error !== null) console.log(`\n${taskId} failed: ${mask(ownFrames(error, file))}`);
    }
    console.log(`\n${run.dagId} ${run.runId}: ${run.state}`);
  }
  return run;
}

/** The author's own error at import: its message and the lines of the file, without our part of the stack. */
function importError(file: string, error: unknown): DefinitionError {
  const { stack, message = String(error) } = error as Partial<Error>;
  const text = ownFrames({ message, ...(stack === undefined ? {} : { stack }) }, file);
  return new DefinitionError("import_error", `${file} could not be imported: ${text}`);
}

/** An error as text, with the frames of the author's file alone. */
function ownFrames(
  { stack, message }: { readonly stack?: string; readonly message: string },
  file: string,
): string {
  const lines = (stack ?? message).split("\n");
  return lines.filter((line) => !/^\s+at /.test(line) || line.includes(basename(file))).join("\n");
}

/** The nearest folder above a file that has packages, else the present one. */
export function projectOf(file: string): string {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules"))) return folder;
    if (folder === dirname(folder)) return process.cwd();
  }
}

/** A day stands for the first interval that starts on it; where there is none, and for an instant, it is the instant. */
function startOn({ timetable, zone }: SerialGraph, text: string): number {
  const at = parseInstant(text, zone);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return at;
  const startAt = boundaries(timetable).atOrAfter(at);
  return startAt !== null && dsOf(startAt, zone) === text ? startAt : at;
}
