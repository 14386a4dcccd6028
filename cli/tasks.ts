import type { Command } from "commander";
import type { GraphTask } from "../api/contracts.ts";
import { NotFound } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { called } from "./call.ts";
import { addTaskCommands } from "./commands.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { addTasksLocal } from "./local.ts";
import { addLogs } from "./logs.ts";
import { addOutput } from "./task-output.ts";
import { columnsOf, printJson, printList, withOutput, withTable, type Output, type Table } from "./output.ts";
import { whole } from "./read.ts";
import { allCells, cellTable, waitsOf } from "./run-text.ts";
import { ofRun, ofTask, runIdOf } from "./runs.ts";

type Options = Output & ServerOptions;

const TASKS: Table<GraphTask> = {
  columns: {
    taskId: (task) => task.id,
    label: (task) => task.label,
    group: (task) => task.group,
    triggerRule: (task) => task.triggerRule,
    retries: (task) => task.retries,
    retryDelayMs: (task) => task.retryDelayMs,
    executionTimeoutMs: (task) => task.executionTimeoutMs,
    pool: (task) => task.pool,
    poolSlots: (task) => task.poolSlots,
    priorityWeight: (task) => task.priorityWeight,
    queue: (task) => task.queue,
  },
  shown: ["taskId", "group", "triggerRule", "retries", "pool", "poolSlots", "queue"],
  id: (task) => task.id,
};

const CELLS = cellTable(new Map());

/** `meridian tasks …`: the names Airflow users know. */
export function taskCommands(program: Command): void {
  const tasks = program
    .command("tasks")
    .description("tasks: list, states, logs, outputs, why one waits, clear, mark, test, render");
  withServer(withTable(tasks.command("list <dag>"), TASKS))
    .description("the tasks of a DAG, in the order they are defined")
    .addHelpText("after", "\nExample:\n  meridian tasks list sales_daily --columns taskId,pool,retries")
    .action(async (dagId: string, options: Options) => {
      columnsOf(TASKS, options);
      const { graph } = await (await connect(options)).dags.get(dagId);
      printList(graph?.tasks ?? [], TASKS, options);
    });
  withServer(withTable(ofRun(tasks.command("states-for-dag-run")), CELLS))
    .description("the state of each task in a run, and why it waits")
    .addHelpText("after", "\nExample:\n  meridian tasks states-for-dag-run sales_daily 2026-05-09")
    .action(async (dagId: string, text: string | undefined, options: Options) => {
      columnsOf(CELLS, options);
      const client = await connect(options);
      const run = await client.runs.get(dagId, await runIdOf(client, dagId, text));
      printList(await allCells(client, run), cellTable(waitsOf(run)), options);
    });
  addFailedDeps(tasks);
  addLogs(tasks);
  addOutput(tasks);
  addTaskCommands(tasks);
  addTasksLocal(tasks);
}

function addFailedDeps(tasks: Command): void {
  withServer(withOutput(ofTask(tasks.command("failed-deps"))))
    .description("why a task of a run has not begun, waits, or could not run")
    .option("--map-index <n>", "which instance of a mapped task", whole(0))
    .addHelpText("after", "\nExample:\n  meridian tasks failed-deps sales_daily load latest")
    .action(
      async (
        dagId: string,
        taskId: string,
        text: string | undefined,
        options: Options & { mapIndex?: number },
      ) => {
        const client = await connect(options);
        const runId = await runIdOf(client, dagId, text);
        const run = await client.runs.get(dagId, runId);
        const { graph } = await client.dags.version(dagId, run.version);
        const ids = graph.tasks.map(({ id }) => id);
        if (!ids.includes(taskId)) {
          const text = `run "${runId}" of dag "${dagId}" has no task "${taskId}"${didYouMean(taskId, ids)}`;
          throw new NotFound("no_task", text);
        }
        const { DEPS, failedDeps } = await import("./why.ts");
        const answer = failedDeps(run, graph, taskId, options.mapIndex ?? -1);
        if (options.output === "json") return printJson(answer);
        console.log(`${taskId} in ${dagId} ${runId}: ${answer.state}`);
        if (answer.deps.length === 0) console.log("nothing holds it back");
        else printList(answer.deps, DEPS, options);
        for (const cause of answer.causes.slice(0, 3))
          console.log(`\nlog: ${called(`tasks logs ${dagId} ${cause} ${runId}`)}`);
      },
    );
}
