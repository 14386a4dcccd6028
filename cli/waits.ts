/** Tasks that wait without a slot: what for, and what ends it. */
import { type Command, Option } from "commander";
import type { Wait } from "../api/contracts-waits.ts";
import { WAIT_KINDS, type WaitKind } from "../core/why-deferred.ts";
import { called } from "./call.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { UsageError } from "./failure.ts";
import {
  columnsOf,
  printJson,
  printList,
  say,
  withQuiet,
  withTable,
  type Output,
  type Table,
} from "./output.ts";
import { collect, jsonValue, limit, whole } from "./read.ts";
import { cellName } from "./run-text.ts";
import { ofTask, runIdOf } from "./runs.ts";

type Options = Output & ServerOptions;
interface ListOptions extends Options {
  readonly run?: string;
  readonly task?: string;
  readonly kind?: readonly WaitKind[];
  readonly limit: number;
}

const WAITS: Table<Wait> = {
  columns: {
    dagId: (wait) => wait.dagId,
    runId: (wait) => wait.runId,
    taskId: cellName,
    try: (wait) => wait.try,
    kind: (wait) => wait.kind,
    state: (wait) => wait.state,
    since: (wait) => wait.since,
    until: (wait) => wait.until,
    checks: (wait) => wait.checks,
    lastCheckAt: (wait) => wait.lastCheckAt,
    nextCheckAt: (wait) => wait.nextCheckAt,
    endedAs: (wait) => wait.endedAs,
    endedBy: (wait) => wait.endedBy,
    endedAt: (wait) => wait.endedAt,
    reason: (wait) => wait.reason,
    url: (wait) => wait.url,
  },
  shown: ["dagId", "runId", "taskId", "kind", "since", "until", "reason"],
  id: (wait) => `${wait.dagId} ${wait.runId} ${cellName(wait)}`,
};
const OF_RUN: Table<Wait> = {
  ...WAITS,
  shown: ["taskId", "try", "kind", "state", "since", "reason", "endedAs", "endedBy", "endedAt"],
  id: cellName,
};

const withIndex = (command: Command): Command =>
  command.option("--map-index <n>", "which instance of a mapped task", whole(0));

/** `meridian waits …` */
export function waitCommands(program: Command): void {
  const waits = program.command("waits").description("tasks that wait without a slot: list, end, poke");
  addList(waits);
  withServer(withQuiet(withIndex(ofTask(waits.command("end")))))
    .description("end what a task waits for, with what it waits for, also before it waits")
    .option("-p, --payload <json>", "what it is ended with: JSON, @file, or - for stdin", "null")
    .option("--idempotency-key <key>", "the same key ends it once, however often it is sent")
    .addHelpText(
      "after",
      `
Ends with 4 when somebody else has ended it already, or it is too late.

Examples:
  meridian waits end sales_daily approval --payload '{"approved":true}'
  meridian waits end sales_daily approval 2026-05-09 --map-index 2`,
    )
    .action(
      async (
        dagId: string,
        taskId: string,
        text: string | undefined,
        options: Options & { mapIndex?: number; payload: string; idempotencyKey?: string },
      ) => {
        const payload = jsonValue("--payload", options.payload);
        const client = await connect(options);
        const of = { dagId, runId: await runIdOf(client, dagId, text), taskId, mapIndex: options.mapIndex };
        const { idempotencyKey } = options;
        const ended = await client.waits.end(of, payload, { idempotencyKey });
        if (options.output === "json") printJson(ended);
        else if (options.quiet !== true)
          console.log(
            `the wait of ${cellName(ended)} in ${dagId} ${ended.runId} is ended\n${called(`runs show ${dagId} ${ended.runId}`)}`,
          );
      },
    );
  withServer(withQuiet(withIndex(ofTask(waits.command("poke")))))
    .description("have a sensor, or a wait for another run, checked now")
    .addHelpText("after", "\nExample:\n  meridian waits poke sales_daily file_is_there")
    .action(
      async (
        dagId: string,
        taskId: string,
        text: string | undefined,
        options: Options & { mapIndex?: number },
      ) => {
        const client = await connect(options);
        const of = { dagId, runId: await runIdOf(client, dagId, text), taskId, mapIndex: options.mapIndex };
        const poked = await client.waits.poke(of);
        if (options.output === "json") printJson(poked);
        else if (options.quiet !== true)
          console.log(`${cellName(poked)} in ${dagId} ${poked.runId} is checked within a second`);
      },
    );
}

function addList(waits: Command): void {
  const kind = new Option("--kind <kind>", "of this kind; repeatable").choices(WAIT_KINDS);
  const check = kind.parseArg!;
  kind.argParser((text: string, before: readonly string[] | undefined) =>
    collect(check(text, undefined as never) as string, before),
  );
  withServer(withTable(waits.command("list").argument("[dag]", "of this DAG; default: of all"), WAITS))
    .description("what waits now, of the oldest run first; with --run, what a run has waited for too")
    .option("--run <run>", "of this run of the DAG: its id, its logical date, its day, or latest")
    .option("--task <task>", "of this task")
    .addOption(kind)
    .option("--limit <n>", "how many, or all", limit, 100)
    .addHelpText(
      "after",
      "\nExamples:\n  meridian waits list\n  meridian waits list sales_daily --run latest --columns taskId,reason,url",
    )
    .action(async (dagId: string | undefined, options: ListOptions) => {
      const table = options.run === undefined ? WAITS : OF_RUN;
      columnsOf(table, options);
      const { run, task: taskId, kind: kinds, limit: most } = options;
      if (run !== undefined && dagId === undefined)
        throw new UsageError(
          "bad_option",
          "--run is of one DAG: name it, as in `waits list sales_daily --run latest`",
        );
      const client = await connect(options);
      const size = { limit: Math.min(most + 1, 1000) };
      const pages =
        run === undefined || dagId === undefined
          ? client.waits.list({ dagId, taskId, kind: kinds, ...size })
          : client.waits.ofRun(dagId, await runIdOf(client, dagId, run), size);
      const found: Wait[] = [];
      for await (const wait of pages) {
        if (found.length > most) break;
        const isMeant = (taskId ?? wait.taskId) === wait.taskId && (kinds ?? [wait.kind]).includes(wait.kind);
        if (isMeant) found.push(wait);
      }
      printList(found.slice(0, most), table, options);
      if (found.length > most) say(options, `more are left out: --limit ${most}`);
    });
}
