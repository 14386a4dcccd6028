import { Command } from "commander";
import { configHelp, readConfig } from "../platform/config.ts";
import { reset } from "../platform/embedded/home.ts";
import { dagCommands } from "./dags.ts";
import { fail } from "./output.ts";
import { VERSION } from "./parts.ts";
import { migrateDatabase, runApi, runProcessor, runSetup, runWorker } from "./processes.ts";
import { runCommands } from "./runs.ts";
import { start } from "./start.ts";

/** The command line; `argv` as the process got it. */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv as string[]);
  } catch (error) {
    fail(error);
  }
}

export function createProgram(): Command {
  const program = new Command("meridian")
    .description("Airflow's way of thinking, on Temporal, in TypeScript.")
    .version(VERSION)
    .showHelpAfterError();
  program
    .command("start")
    .description(
      "the whole product in one process group: embedded PostgreSQL and Temporal, worker, processor, API, page",
    )
    .action(async () => await start(readConfig()));
  program
    .command("dev")
    .description("as start; saved DAG files are picked up, runs in flight keep their version")
    .action(async () => await start(readConfig()));
  program
    .command("reset")
    .description("empty the data folder (embedded database, Temporal, logs)")
    .action(async () => await reset(readConfig().home));
  program
    .command("setup")
    .description("register search attributes and clock Schedules in the Temporal namespace")
    .action(async () => await runSetup(readConfig()));
  program
    .command("worker")
    .description("run tasks and workflows")
    .action(async () => await runWorker(readConfig()));
  program
    .command("api")
    .description("serve the API and the page")
    .action(async () => await runApi(readConfig()));
  program
    .command("processor")
    .description("watch the DAG folder and store versions")
    .action(async () => await runProcessor(readConfig()));
  program
    .command("config")
    .description("list all settings (environment variables)")
    .action(() => console.log(configHelp()));
  program
    .command("db")
    .description("the database")
    .command("migrate")
    .description("bring the schema up to date")
    .action(async () => await migrateDatabase(readConfig()));
  dagCommands(program);
  runCommands(program);
  return program;
}
