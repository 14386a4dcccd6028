import type { Command } from "commander";
import { withOutput, type Output } from "./output.ts";
import { named, whole } from "./read.ts";

export interface LocalFlags extends Output {
  readonly dag?: string;
  readonly interval?: string;
  readonly conf: string;
  readonly now?: string;
}

export interface DagFlags extends LocalFlags {
  readonly event: Readonly<Record<string, unknown>>;
}

export interface TaskFlags extends LocalFlags {
  readonly input: Readonly<Record<string, unknown>>;
  readonly try: number;
}

/** Loaded when it is wanted: it imports the library for authors, and esbuild. */
const run = async () => await import("./local-run.ts");

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
    .option(
      "--event <task=json>",
      "what ends the wait of a task, or task=@file.json; repeatable",
      named("--event"),
      {},
    )
    .addHelpText(
      "after",
      '\nExamples:\n  meridian dags test dags/sales.ts --interval 2026-05-09\n  meridian dags test dags/orders.ts --event \'approval={"by":"me"}\'',
    )
    .action(async (file: string, flags: DagFlags) => await (await run()).testDag(file, flags));
}

/** `tasks test` and `tasks render`: one task, without any server. */
export function addTasksLocal(tasks: Command): void {
  withLocal(tasks.command("test <file-or-dag> <task>"))
    .description("run one try of a task in this process, with inputs of your choice")
    .option("--input <name=json>", "an input's value, or name=@file.json; repeatable", named("--input"), {})
    .option("--try <number>", "number of the try", whole(1), 1)
    .addHelpText("after", "\nExample:\n  meridian tasks test dags/sales.ts total --input 'rows=[1,2,3]'")
    .action(
      async (file: string, taskId: string, flags: TaskFlags) =>
        await (await run()).testTask(file, taskId, flags),
    );
  withLocal(tasks.command("render <file-or-dag> <task>"))
    .description("show a task's templates as its body would get them")
    .option("--try <number>", "number of the try", whole(1), 1)
    .addHelpText("after", "\nExample:\n  meridian tasks render dags/sales.ts load --interval 2026-05-09")
    .action(
      async (file: string, taskId: string, flags: Omit<TaskFlags, "input">) =>
        await (await run()).renderTemplates(file, taskId, flags),
    );
}
