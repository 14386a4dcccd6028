import { type Command, Option } from "commander";
import type { ListedRun } from "../api/contracts.ts";
import { RUN_STATES, RUN_TYPES, type RunState, type RunType } from "../core/states.ts";
import { startOnDay } from "../core/calendar/day.ts";
import { NotFound } from "../core/errors.ts";
import { runIdOf as idOf } from "../core/ids.ts";
import type { Client } from "../remote/index.ts";
import { whyOf } from "../remote/run-words.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import {
  columnsOf,
  printJson,
  printList,
  say,
  withOutput,
  withTable,
  type Output,
  type Table,
} from "./output.ts";
import { collect, duration, instant, limit, namedRun } from "./read.ts";
import { secondsOf } from "./table.ts";
import { waitAndEnd } from "./wait.ts";

const RUNS: Table<ListedRun> = {
  columns: {
    dagId: (run) => run.dagId,
    runId: (run) => run.runId,
    runType: (run) => run.runType,
    state: (run) => run.state,
    logicalDate: (run) => run.logicalDate,
    queuedAt: (run) => run.queuedAt,
    startedAt: (run) => run.startedAt,
    endedAt: (run) => run.endedAt,
    seconds: (run) => secondsOf(run),
    version: (run) => run.version,
    triggeredBy: (run) => run.triggeredBy,
    reason: (run) => run.reason,
    why: (run) => whyOf(run),
  },
  shown: ["dagId", "runId", "runType", "state", "startedAt", "seconds", "why"],
  id: (run) => run.runId,
};

export interface RunListOptions extends Output, ServerOptions {
  readonly state?: readonly RunState[];
  readonly type?: readonly RunType[];
  readonly startDate?: string;
  readonly endDate?: string;
  readonly startedFrom?: string;
  readonly startedUntil?: string;
  readonly search?: string;
  readonly limit: number;
}

export function withRunFilter(command: Command): Command {
  const several = (flags: string, what: string, choices: readonly string[]): Option => {
    const option = new Option(flags, what).choices(choices);
    const check = option.parseArg!;
    option.argParser((text: string, before: readonly string[] | undefined) =>
      collect(check(text, undefined as never) as string, before),
    );
    return option;
  };
  return withServer(withTable(command, RUNS))
    .addOption(several("--state <state>", "in this state; repeatable: in one of them", RUN_STATES))
    .addOption(several("--type <type>", "of this type; repeatable: of one of them", RUN_TYPES))
    .option("--start-date <date>", "logical dates from this day or instant on (UTC)", instant)
    .option("--end-date <date>", "logical dates before this day or instant (UTC)", instant)
    .option("--started-from <date>", "runs that began from this day or instant on (UTC)", instant)
    .option("--started-until <date>", "runs that began before this day or instant (UTC)", instant)
    .option("--search <text>", "part of the DAG's or the run's id")
    .option("--limit <n>", "how many, or all", limit, 25);
}

export async function listRuns(dagId: string | undefined, options: RunListOptions): Promise<void> {
  columnsOf(RUNS, options);
  const client = await connect(options);
  const found = await client.runs
    .list({
      dagId,
      state: options.state,
      type: options.type,
      search: options.search,
      from: options.startDate,
      until: options.endDate,
      startedFrom: options.startedFrom,
      startedUntil: options.startedUntil,
      tasks: true,
      limit: Math.min(options.limit + 1, 1000),
    })
    .all(options.limit + 1);
  // A run's id says which run only together with its DAG's.
  const table = dagId === undefined ? { ...RUNS, id: (run: ListedRun) => `${run.dagId} ${run.runId}` } : RUNS;
  printList(found.slice(0, options.limit), table, options);
  if (found.length > options.limit) say(options, `older runs are left out: --limit ${options.limit}`);
}

/** The id of the run that was meant; the newest one where none is named. */
export async function runIdOf(client: Client, dagId: string, text: string | undefined): Promise<string> {
  const named = namedRun(text);
  if ("runId" in named) return named.runId;
  if ("day" in named) return idOf(await startOf(client, dagId, named.day));
  const [newest] = await client.runs.list({ dagId, limit: 1 }).all(1);
  if (newest !== undefined) return newest.runId;
  throw new NotFound("no_run", `dag "${dagId}" has no run yet`);
}

/** Of a day: when the DAG's first interval of it starts (epoch ms). */
export async function startOf(client: Client, dagId: string, day: string): Promise<number> {
  const { graph } = await client.dags.get(dagId);
  return startOnDay(day, graph ?? { timetable: { kind: "manual" }, zone: "UTC" });
}

const RUN_ARGUMENT = "a run's id, its logical date, its day, or latest; default: latest";

/** The command is about a run of a DAG: `<dag> [run]`. */
export const ofRun = (command: Command): Command =>
  command.argument("<dag>", "id of the DAG").argument("[run]", RUN_ARGUMENT);

/** The command is about a task of a run: `<dag> <task> [run]`. */
export const ofTask = (command: Command): Command =>
  command
    .argument("<dag>", "id of the DAG")
    .argument("<task>", "id of the task, with its group")
    .argument("[run]", RUN_ARGUMENT);

/** `meridian runs …` */
export function runCommands(program: Command): Command {
  const runs = program.command("runs").description("runs: list, show, wait, priority, end");
  withRunFilter(runs.command("list").argument("[dag]", "of this DAG; default: of all"))
    .description("runs, newest first")
    .addHelpText(
      "after",
      "\nWith --quiet: run ids; without a DAG, DAG and run.\n\nExamples:\n  meridian runs list --state failed --started-from 2026-05-09T18:00Z\n  meridian runs list --state failed --quiet | xargs -n2 meridian runs show",
    )
    .action(async (dagId: string | undefined, options: RunListOptions) => await listRuns(dagId, options));
  withServer(withOutput(ofRun(runs.command("show"))))
    .description("a run: its tasks, why they wait, and what went wrong")
    .addHelpText(
      "after",
      "\nExamples:\n  meridian runs show sales_daily\n  meridian runs show sales_daily 2026-05-09",
    )
    .action(async (dagId: string, text: string | undefined, options: Output & ServerOptions) => {
      const client = await connect(options);
      const run = await client.runs.get(dagId, await runIdOf(client, dagId, text));
      if (options.output === "json") return printJson(run);
      const { printRun } = await import("./run-text.ts");
      await printRun(client, run);
    });
  withServer(withOutput(ofRun(runs.command("wait"))))
    .description("wait until a run has ended; the exit code says how")
    .option("-q, --quiet", "no words while it waits")
    .option("--timeout <time>", "give up after so long: seconds, or 90s, 10m, 2h", duration)
    .addHelpText(
      "after",
      "\nEnds with 0 when it succeeded, 1 when it failed or was cancelled, 6 when the time is over.\n\nExample:\n  meridian runs wait sales_daily latest --timeout 30m",
    )
    .action(
      async (
        dagId: string,
        text: string | undefined,
        options: Output & ServerOptions & { timeout?: number },
      ) => {
        const client = await connect(options);
        await waitAndEnd(client, dagId, await runIdOf(client, dagId, text), options);
      },
    );
  return runs;
}
