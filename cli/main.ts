import { Command } from "commander";
import { configHelp, readConfig } from "../platform/config.ts";
import { dagCommands } from "./dags.ts";
import { fail } from "./output.ts";
import { poolCommands } from "./pools.ts";
import { runCommands } from "./runs.ts";
import { taskCommands } from "./tasks.ts";
import { validateCommand } from "./validate.ts";
import { VERSION } from "./version.ts";

/** Loaded when they are wanted: Temporal's worker alone takes a second, and `dags list` needs none of it. */
const processes = async () => await import("./processes.ts");
const start = async (options: { readonly dev?: boolean } = {}): Promise<void> =>
  await (await import("./start.ts")).start(readConfig(), options);

/** The command line; `argv` as the process got it. */
export async function main(argv: readonly string[]): Promise<void> {
  // `meridian dags list | head -1`: who has read enough has not failed us.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
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
    .showHelpAfterError("(more by --help)");
  program
    .command("start")
    .description(
      "the whole product in one process group: embedded PostgreSQL and Temporal, worker, processor, API, page",
    )
    .action(async () => await start());
  program
    .command("dev")
    .description("as start; tells what each save of a DAG file changed, or why it cannot be used")
    .action(async () => await start({ dev: true }));
  program
    .command("reset")
    .description("empty the data folder (embedded database, Temporal, logs)")
    .action(async () => await (await import("../platform/embedded/home.ts")).reset(readConfig().home));
  program
    .command("setup")
    .description("register search attributes and clock Schedules in the Temporal namespace")
    .action(async () => await (await processes()).runSetup(readConfig()));
  program
    .command("worker")
    .description("run tasks and workflows")
    .action(async () => await (await processes()).runWorker(readConfig()));
  program
    .command("api")
    .description("serve the API and the page")
    .action(async () => await (await processes()).runApi(readConfig()));
  program
    .command("processor")
    .description("watch the DAG folder and store versions")
    .action(async () => await (await processes()).runProcessor(readConfig()));
  program
    .command("config")
    .description("list all settings (environment variables)")
    .action(() => console.log(configHelp()));
  program
    .command("db")
    .description("the database")
    .command("migrate")
    .description("bring the schema up to date")
    .action(async () => await (await processes()).migrateDatabase(readConfig()));
  dagCommands(program);
  taskCommands(program);
  runCommands(program);
  poolCommands(program);
  validateCommand(program);
  return program;
}
